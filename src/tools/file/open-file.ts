import { constants, type Stats } from "node:fs"
import { type FileHandle, lstat } from "node:fs/promises"
import { basename, dirname } from "node:path"
import { type HeldDirectory, ReplacedError } from "../../system/held-directory.ts"
import { holdDirectory } from "../../system/hold-directory.ts"
import type { ResolvedPath } from "../../workspace/workspace.ts"
import type { FileState } from "../tool.ts"
import { shownName } from "./shown-name.ts"

/** A real path, and its name for people. */
export type FileLocation = Pick<ResolvedPath, "path" | "name">

export interface OpenedFile {
  handle: FileHandle
  /** The file's state when it was opened. */
  stats: Stats
}

/**
 * Opens a regular file for reading; undefined if there is none. A pipe or a device is refused without opening it,
 * because it might block for ever or have an effect. The opened file is always the one at the real path, even if a
 * directory is replaced by a symlink at the same moment.
 */
export async function openFile(location: FileLocation): Promise<OpenedFile | undefined> {
  const held = await holdParent(location)
  if (held === undefined) return undefined
  await using _ = held
  return await openEntry(held, location)
}

/** Holds the directory of a file; undefined if there is no such directory. */
export async function holdParent(location: FileLocation): Promise<HeldDirectory | undefined> {
  try {
    return await holdDirectory(dirname(location.path))
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return undefined
    throw explained(error, `${shownName(location.name)} could not be opened`)
  }
}

/** As `openFile`, in the directory of the file. */
export async function openEntry(
  held: HeldDirectory,
  location: FileLocation,
): Promise<OpenedFile | undefined> {
  const name = basename(location.path)
  // The root directory has no name.
  if (name === "") throw new Error("/ is a directory. Use the list tool to see what is in it.")
  const notOpened = (error: unknown) => {
    throw explained(error, `${shownName(location.name)} could not be opened`)
  }
  const found = await held.stats(name).catch(notOpened)
  if (found === undefined) return undefined
  requireRegularFile(found, location)
  const handle = await held.open(name, constants.O_RDONLY | constants.O_NONBLOCK).catch(notOpened)
  try {
    const stats = await handle.stat()
    requireRegularFile(stats, location)
    return { handle, stats }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The file at the path itself, without following a symlink; undefined if nothing is there. */
export async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return undefined
    throw error
  }
}

/**
 * The whole text of a file. Throws if the file is larger than the limit or not UTF-8. A byte order mark stays in the
 * text.
 */
export async function readText(
  { handle, stats }: OpenedFile,
  limit: { name: string; bytesMax: number },
): Promise<string> {
  const tooLarge = `${limit.name} is larger than ${limit.bytesMax} bytes. Work on it with a command instead.`
  if (stats.size > limit.bytesMax) throw new Error(tooLarge)
  const bytes = Buffer.alloc(limit.bytesMax < stats.size + 1 ? limit.bytesMax : stats.size + 1)
  let length = 0
  for (;;) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length)
    length += bytesRead
    if (bytesRead === 0 || length === bytes.length) break
  }
  if (length > stats.size) throw new Error(`${limit.name} grew while it was read. Call again.`)
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, length))
  } catch {
    throw new Error(`${limit.name} is not UTF-8 text. Work on it with a command instead.`)
  }
}

export function stateOf(stats: Stats): FileState {
  return { mtimeMs: stats.mtimeMs, size: stats.size }
}

/** Turns a system error into a sentence; other errors stay unchanged. */
export function explained(error: unknown, what: string): unknown {
  if (error instanceof ReplacedError)
    return new Error(`${what}: its directory was replaced meanwhile. Call again.`, { cause: error })
  const code = error instanceof Error && "code" in error ? String(error.code) : undefined
  const reason =
    code === undefined ? undefined : (reasons[code] ?? (/^E[A-Z]+$/.test(code) ? code : undefined))
  return reason === undefined ? error : new Error(`${what}: ${reason}.`, { cause: error })
}

const reasons: Record<string, string> = {
  EACCES: "permission is denied by the system",
  EPERM: "permission is denied by the system",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ENAMETOOLONG: "the name is too long",
  ENOTDIR: "a part of the path is a file, not a directory",
  EEXIST: "a part of the path is a file, not a directory",
  EISDIR: "it is a directory",
  ELOOP: "it was replaced by a symlink meanwhile",
  ENOENT: "it, or its directory, was removed meanwhile",
}

export function isErrno(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code))
}

function requireRegularFile(stats: Stats, { name }: FileLocation): void {
  if (stats.isFile()) return
  if (stats.isDirectory())
    throw new Error(`${shownName(name)} is a directory. Use the list tool to see what is in it.`)
  throw new Error(
    `${shownName(name)} is a pipe, a socket, a device or a symlink. Only regular files can be opened.`,
  )
}
