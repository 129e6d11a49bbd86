import { fstatSync, readFileSync, readSync, statSync } from "node:fs"
import type { Terminal } from "./terminal.ts"

/**
 * True if whoever started this wants it to live longer than the terminal. Node undoes what `nohup` asks of the system, so it is
 * known by its other traces: the name that a shell leaves in the environment, an input that can only be written to, or a parent
 * that a closed terminal does not end either, such as a script that was started with it.
 */
export function outlivesTerminal({ env, output }: Pick<Terminal, "env" | "output">): boolean {
  if (output.isTTY) return false
  return /(^|\/)nohup$/.test(env._ ?? "") || isInputSealed() || isIgnoredByParent()
}

/** In place of a terminal, `nohup` gives the null device as input, opened so that nobody can read it. */
function isInputSealed(): boolean {
  try {
    const { rdev } = fstatSync(0)
    if (rdev === 0 || rdev !== statSync("/dev/null").rdev) return false
    readSync(0, Buffer.alloc(1))
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EBADF"
  }
}

function isIgnoredByParent(): boolean {
  try {
    const status = readFileSync(`/proc/${process.ppid}/status`, "utf8")
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"
    return (BigInt(`0x${ignored}`) & 1n) === 1n
  } catch {
    // Only Linux tells.
    return false
  }
}
