const endings = new Set<() => void>()
const signals = ["SIGINT", "SIGTERM"] as const

/**
 * Runs the function if a signal stops the benchmark, the newest function first. The returned function unregisters it.
 */
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
