/** Called before each call to the file system, and around each process that is started. */
export const calls = {
  beforeFileCall: () => {},
  beforeProcess: (_args: readonly string[]) => {},
  afterProcess: () => {},
}

export function ignoreCalls(): void {
  calls.beforeFileCall = () => {}
  calls.beforeProcess = () => {}
  calls.afterProcess = () => {}
}

/** For `vi.mock("node:fs/promises")`: the same module, which reports its calls. */
export function watchedFileSystem<Module extends object>(real: Module): Module {
  const watched = Object.entries(real).map(([name, value]) => {
    if (typeof value !== "function") return [name, value]
    const call = (...args: unknown[]) => {
      calls.beforeFileCall()
      return value(...args)
    }
    return [name, call]
  })
  return { ...Object.fromEntries(watched), default: real }
}

/** For `vi.mock("node:child_process")`: the same module, which reports the processes that `spawn` starts. */
export function watchedProcesses(
  real: typeof import("node:child_process"),
): typeof import("node:child_process") {
  const spawn = (...args: Parameters<typeof real.spawn>) => {
    calls.beforeProcess(args[1])
    const child = real.spawn(...args)
    child.once("exit", () => calls.afterProcess())
    return child
  }
  return { ...real, spawn: spawn as typeof real.spawn }
}
