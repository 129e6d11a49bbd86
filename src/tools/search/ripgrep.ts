import { spawn } from "node:child_process"
import { holdDirectory } from "../../system/hold-directory.ts"
import { explained } from "../file/open-file.ts"
import type { ToolContext } from "../tool.ts"

const timeoutMs = 20_000
const errorBytesMax = 4_096

export interface RipgrepRun {
  args: readonly string[]
  /** The directory that it runs in, a real path. Paths in its output are relative to it. */
  directory: string
  /** It is stopped when it has printed more. */
  outputBytesMax: number
  context: Pick<ToolContext, "environment" | "signal">
  /** How long it may run; 20 s if absent. */
  timeoutMs?: number
}

export interface RipgrepResult {
  stdout: Buffer
  /** True if it was stopped because it printed too much. `stdout` has the output before that. */
  cut: boolean
}

/**
 * Runs the ripgrep that is part of Stemma, without any config file. No match is an empty result. Throws an Error with a
 * sentence if it could not run, took too long, or rejected its arguments, such as an invalid pattern.
 *
 * While it runs, a directory below its own may be a symlink that leads out of the project for a moment, and ripgrep then
 * reads there. A caller checks names with `firstShowable` and lines with `confirmedLines` before it shows them.
 */
export async function ripgrep(run: RipgrepRun): Promise<RipgrepResult> {
  const { signal, environment } = run.context
  if (run.args.some((one) => one.includes("\0"))) throw new Error("A pattern cannot contain a NUL character.")
  const path = await ripgrepPath()
  const { RIPGREP_CONFIG_PATH: _, ...env } = environment
  await using held = await holdDirectory(run.directory).catch((error: unknown) => {
    throw explained(error, "The search could not start")
  })
  signal.throwIfAborted()
  return await new Promise((resolve, reject) => {
    const child = spawn(path, ["--no-config", "--color=never", ...run.args], {
      cwd: held.self,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    })
    const stdout = new Collected(run.outputBytesMax)
    const stderr = new Collected(errorBytesMax)
    let late = false
    const kill = () => child.kill("SIGKILL")
    const timer = setTimeout(() => {
      late = true
      kill()
    }, run.timeoutMs ?? timeoutMs)
    signal.addEventListener("abort", kill, { once: true })
    child.stdout.on("data", (bytes: Buffer) => {
      if (!stdout.add(bytes)) kill()
    })
    child.stderr.on("data", (bytes: Buffer) => void stderr.add(bytes))
    const settle = () => {
      clearTimeout(timer)
      signal.removeEventListener("abort", kill)
    }
    child.on("error", (error) => {
      settle()
      reject(
        new Error("The search could not start. Check that the directory still exists.", { cause: error }),
      )
    })
    child.on("close", (code) => {
      settle()
      if (signal.aborted) reject(signal.reason)
      else if (late)
        reject(new Error("The search took too long. Narrow it: a smaller directory, or a simpler pattern."))
      else if (!stdout.cut && code !== 0 && stderr.size > 0)
        reject(new Error(stderr.bytes().toString().trim()))
      else resolve({ stdout: stdout.bytes(), cut: stdout.cut })
    })
  })
}

/** Collects bytes up to a limit. */
class Collected {
  size = 0
  cut = false
  readonly #max: number
  readonly #parts: Buffer[] = []

  constructor(max: number) {
    this.#max = max
  }

  /** Returns false if the limit is reached. */
  add(bytes: Buffer): boolean {
    const room = this.#max - this.size
    if (bytes.length > room) this.cut = true
    if (room > 0) this.#parts.push(bytes.subarray(0, room))
    this.size += Math.min(room, bytes.length)
    return !this.cut
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

async function ripgrepPath(): Promise<string> {
  try {
    const { rgPath } = await import("@vscode/ripgrep")
    return rgPath
  } catch (error) {
    throw new Error("Searching needs ripgrep, which is not installed for this kind of machine.", {
      cause: error,
    })
  }
}
