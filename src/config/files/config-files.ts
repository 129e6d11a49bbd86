import { constants } from "node:fs"
import { open, readdir, realpath, stat } from "node:fs/promises"
import { extname } from "node:path"
import { StemmaError } from "../../protocol/index.ts"
import { isInside } from "../project.ts"
import { isAbsent, settledAfterMs } from "./records.ts"

export const configFileBytesMax = 256 * 1024
export const configFilesMax = 200
const projectBytesMax = 4 * 1024 * 1024

/** Not every system knows the flag. */
const noFollow = constants.O_NOFOLLOW ?? 0

export interface ConfigFile {
  path: string
  text: string
}

/** Reads config files and remembers the state of each file and folder it looked for, to notice a change. */
export class ConfigFiles {
  readonly #seen = new Map<string, string>()
  #settled = true
  #projectBytes = 0
  readonly notices: string[] = []

  /** A file of the user's own, wherever a link leads. Throws a StemmaError if it is there and cannot be read. */
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

  /** A file of a project, which may be anybody's: only from inside `root`, and never an error, only a notice. */
  async readInside(path: string, root: string): Promise<ConfigFile | undefined> {
    await this.watch(path)
    try {
      const real = await realpath(path)
      if (!isInside(real, root)) throw new Error("it is a link that leads out of the project")
      // A link named AGENTS.md must not show what is in .env.
      if (extname(real) !== extname(path)) throw new Error("it is a link to another kind of file")
      const text = await readText(real, noFollow)
      this.#projectBytes += text.length
      if (this.#projectBytes > projectBytesMax) throw new Error("the project's config files are over 4 MiB")
      return { path, text }
    } catch (error) {
      if (isAbsent(error)) return undefined
      this.notices.push(
        `${path} was ignored: ${error instanceof Error ? error.message : "it cannot be read"}.`,
      )
      return undefined
    }
  }

  /** Names in a folder, sorted; none if it is absent. */
  async list(folder: string): Promise<string[]> {
    await this.watch(folder)
    const names = await readdir(folder).catch(() => [])
    if (names.length > configFilesMax)
      this.notices.push(`${folder} has more than ${configFilesMax} files; the rest were ignored.`)
    return names.sort().slice(0, configFilesMax)
  }

  /** Call it before reading, so that a change in between is noticed. */
  async watch(path: string): Promise<void> {
    if (this.#seen.has(path)) return
    const { state, changedMs } = await stateOf(path)
    this.#seen.set(path, state)
    if (Math.abs(Date.now() - changedMs) < settledAfterMs) this.#settled = false
  }

  /** False as soon as anything that was looked for is no longer as it was, or may be without showing it. */
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
  // Git changes its folder all the time; only whether it is there matters.
  if (path.endsWith(".git")) return { state: "present", changedMs: 0 }
  const { dev, ino, size, mtimeNs, ctimeNs } = found
  return { state: [dev, ino, size, mtimeNs, ctimeNs].join(":"), changedMs: Number(found.ctimeMs) }
}

/** Never waits for a pipe or reads a device. */
async function readText(path: string, flags = 0): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | flags)
  try {
    const found = await file.stat()
    if (!found.isFile()) throw new Error("it is not a file")
    const buffer = Buffer.alloc(configFileBytesMax + 1)
    let length = 0
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    if (length > configFileBytesMax) throw new Error("it is over 256 KiB")
    return new TextDecoder().decode(buffer.subarray(0, length))
  } finally {
    await file.close()
  }
}
