import { constants } from "node:fs"
import { type FileHandle, open, readdir, realpath, stat } from "node:fs/promises"
import { basename, dirname, extname } from "node:path"
import { StemmaError } from "../../protocol/index.ts"
import { holdDirectory } from "../../system/hold-directory.ts"
import { isInside } from "../project.ts"
import { isAbsent, settledAfterMs } from "./records.ts"

export const configFileBytesMax = 256 * 1024
export const configFilesMax = 200
const projectBytesMax = 4 * 1024 * 1024
const absent = "absent"

/** Never blocks on a pipe. Not every system has the flag. */
const readFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

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
      return { path, text: await readText(await open(path, readFlags)) }
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
    let real: string | undefined
    try {
      real = await realpath(path)
      if (!isInside(real, root)) throw new Error("it is a symlink that leads out of the project")
      // A symlink named AGENTS.md must not expose the content of .env.
      if (extname(real) !== extname(path)) throw new Error("it is a symlink to a file of another type")
      // The directory is held, because it may be replaced by a symlink after the check.
      await using held = await holdDirectory(dirname(real))
      const text = await readText(await held.open(basename(real), readFlags))
      this.#projectBytes += text.length
      if (this.#projectBytes > projectBytesMax)
        throw new Error("the project's config files together are larger than 4 MiB")
      return { path, text }
    } catch (error) {
      await this.#unsettleIfMoved(path, real)
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

  /** A path that led elsewhere for a moment is read again, although its file looks unchanged when it is back. */
  async #unsettleIfMoved(path: string, real: string | undefined): Promise<void> {
    const seen = this.#seen.get(path)
    if (seen === absent) return
    const [now, { state }] = await Promise.all([realpath(path).catch(() => undefined), stateOf(path)])
    if (now !== real || state !== seen) this.#settled = false
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
  if (found === undefined) return { state: absent, changedMs: 0 }
  // Git changes its directory all the time; only its existence matters.
  if (path.endsWith(".git")) return { state: "present", changedMs: 0 }
  const { dev, ino, size, mtimeNs, ctimeNs } = found
  return { state: [dev, ino, size, mtimeNs, ctimeNs].join(":"), changedMs: Number(found.ctimeMs) }
}

/** Closes the file. Never reads a device. */
async function readText(file: FileHandle): Promise<string> {
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
