import { constants } from "node:fs"
import { open, readdir, realpath, stat } from "node:fs/promises"
import { extname } from "node:path"
import { StemmaError } from "../../protocol/index.ts"
import { isInside } from "../project.ts"
import { isAbsent, settledAfterMs } from "./records.ts"

export const configFileBytesMax = 256 * 1024
export const configFilesMax = 200
const projectBytesMax = 4 * 1024 * 1024

/** Not every system has the flag. */
const noFollow = constants.O_NOFOLLOW ?? 0

export interface ConfigFile {
  path: string
  text: string
}

/** Reads config files and remembers the state of each file and directory that it looked for, to detect changes. */
export class ConfigFiles {
  readonly #seen = new Map<string, string>()
  #settled = true
  #projectBytes = 0
  readonly notices: string[] = []

  /**
   * A file of the user's own; symlinks are followed anywhere. Throws a StemmaError if the file exists and cannot be
   * read.
   */
  async readOwn(path: string): Promise<ConfigFile | undefined> {
    await this.watch(path)
    try {
      return { path, text: await readText(path) }
    } catch (error) {
      if (isAbsent(error)) return undefined
      const reason = error instanceof Error ? error.message : "unknown"
      throw new StemmaError(
        "invalid",
        `${path} cannot be read: ${reason}. Correct it; nothing was changed.`,
        {
          cause: error,
        },
      )
    }
  }

  /**
   * A file of a project, which may be hostile: it must be inside `root`, and any problem is a notice, never an error.
   */
  async readInside(path: string, root: string): Promise<ConfigFile | undefined> {
    await this.watch(path)
    try {
      const real = await realpath(path)
      if (!isInside(real, root)) throw new Error("it is a symlink that leads out of the project")
      // A symlink named AGENTS.md must not expose the content of .env.
      if (extname(real) !== extname(path)) throw new Error("it is a symlink to a file of another type")
      const text = await readText(real, noFollow)
      this.#projectBytes += text.length
      if (this.#projectBytes > projectBytesMax)
        throw new Error("the project's config files together are larger than 4 MiB")
      return { path, text }
    } catch (error) {
      if (isAbsent(error)) return undefined
      this.notices.push(
        `${path} was ignored: ${error instanceof Error ? error.message : "it cannot be read"}.`,
      )
      return undefined
    }
  }

  /** Names in a directory, sorted; empty if the directory is absent. */
  async list(folder: string): Promise<string[]> {
    await this.watch(folder)
    const names = await readdir(folder).catch(() => [])
    if (names.length > configFilesMax)
      this.notices.push(`${folder} has more than ${configFilesMax} files; the rest were ignored.`)
    return names.sort().slice(0, configFilesMax)
  }

  /** Must be called before a file is read, so that a change in between is detected. */
  async watch(path: string): Promise<void> {
    if (this.#seen.has(path)) return
    const { state, changedMs } = await stateOf(path)
    this.#seen.set(path, state)
    if (Math.abs(Date.now() - changedMs) < settledAfterMs) this.#settled = false
  }

  /** False if any watched path has changed, or was changed so recently that a further change might not be visible. */
  async unchanged(): Promise<boolean> {
    if (!this.#settled) return false
    const all = await Promise.all(
      [...this.#seen].map(async ([path, state]) => (await stateOf(path)).state === state),
    )
    return all.every(Boolean)
  }
}

async function stateOf(path: string): Promise<{ state: string; changedMs: number }> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  if (found === undefined) return { state: "absent", changedMs: 0 }
  // Git changes its directory all the time; only its existence matters.
  if (path.endsWith(".git")) return { state: "present", changedMs: 0 }
  const { dev, ino, size, mtimeNs, ctimeNs } = found
  return { state: [dev, ino, size, mtimeNs, ctimeNs].join(":"), changedMs: Number(found.ctimeMs) }
}

/** Never blocks on a pipe and never reads a device. */
async function readText(path: string, flags = 0): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | flags)
  try {
    const found = await file.stat()
    if (!found.isFile()) throw new Error("it is not a regular file")
    const buffer = Buffer.alloc(configFileBytesMax + 1)
    let length = 0
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    if (length > configFileBytesMax) throw new Error("it is larger than 256 KiB")
    return new TextDecoder().decode(buffer.subarray(0, length))
  } finally {
    await file.close()
  }
}
