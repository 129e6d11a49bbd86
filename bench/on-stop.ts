const endings = new Set<() => void>()
const signals = ["SIGINT", "SIGTERM"] as const

/** Runs if the benchmark is stopped by a signal, what was added last first. The function returned takes it back. */
export function onStop(ending: () => void): () => void {
  if (endings.size === 0) for (const signal of signals) process.on(signal, stop)
  endings.add(ending)
  return () => {
    endings.delete(ending)
    if (endings.size === 0) for (const signal of signals) process.off(signal, stop)
  }
}

function stop(): void {
  for (const ending of [...endings].reverse()) ending()
  process.exit(1)
}
