import { fstatSync, readFileSync, readSync, statSync } from "node:fs"
import type { Terminal } from "./terminal.ts"

/**
 * True if this process was started with `nohup` and must survive the end of its terminal. Node resets the ignored
 * SIGHUP that `nohup` sets, so three other traces are checked: the variable `_` of the shell, an input that cannot be
 * read, or a parent that ignores SIGHUP, such as a script that was started with `nohup`. See docs/decisions/nohup.md.
 */
export function outlivesTerminal({ env, output }: Pick<Terminal, "env" | "output">): boolean {
  if (output.isTTY) return false
  return /(^|\/)nohup$/.test(env._ ?? "") || isInputSealed() || isIgnoredByParent()
}

/** `nohup` replaces a terminal as input by the null device, opened for writing only. */
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
    // Only Linux has /proc.
    return false
  }
}
