import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, openSync, readFileSync } from "node:fs"
import { builtChild } from "./built.ts"

export interface ChildOptions {
  /** The file for the output. A file is complete even after the process was killed. */
  output: string
  args?: string[]
  /** A command before the program: `["strace", "-f"]`. */
  wrapper?: string[]
  env?: Record<string, string>
  /** The process is killed after this time. */
  limitMs?: number
}

/** A running script of `children/`, which ends with its scope. */
export interface Child extends AsyncDisposable {
  process: ChildProcess
  /** Resolves when the script sends "ready"; rejects with its output if it ends before. */
  ready: Promise<void>
  /** Resolves when the process has ended. */
  ended: Promise<{ code: number | null; signal: string | null }>
  /** The JSON lines that it has written so far, without a line that the kill cut off. */
  lines<T>(): T[]
  errors(): string
}

export function startChild(script: string, options: ChildOptions): Child {
  const { output, args = [], wrapper = [], env = {}, limitMs = 120_000 } = options
  const [command, ...rest] = [...wrapper, process.execPath, builtChild(script), ...args] as [
    string,
    ...string[],
  ]
  const out = openSync(output, "a")
  const errors = openSync(`${output}.errors`, "a")
  const child = spawn(command, rest, {
    stdio: ["ignore", out, errors, "ipc"],
    env: { ...process.env, NODE_OPTIONS: "", NODE_NO_WARNINGS: "1", ...env },
  })
  closeSync(out)
  closeSync(errors)
  const limit = setTimeout(() => child.kill("SIGKILL"), limitMs)
  const errorText = () => readFileSync(`${output}.errors`, "utf8")
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code, signal) => {
      clearTimeout(limit)
      resolve({ code, signal })
    })
  })
  const ready = new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve())
    ended.then(() => reject(new Error(`${script} ended before it was ready: ${errorText()}`)), reject)
  })
  // The caller may not await `ready`. `ended` reports the failure too.
  ready.catch(() => {})
  return {
    process: child,
    ready,
    ended,
    lines: () =>
      readFileSync(output, "utf8")
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    errors: errorText,
    async [Symbol.asyncDispose]() {
      // The signal does not reach a program under a wrapper, but the program notices that the channel is closed.
      if (child.connected) child.disconnect()
      child.kill("SIGKILL")
      await ended
    },
  }
}
