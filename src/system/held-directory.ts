import type { Stats } from "node:fs"
import type { FileHandle } from "node:fs/promises"
import { sep } from "node:path"

/**
 * A directory that stays the one that was checked, until it is released. Between the check of a path and its use, another
 * process may replace any directory of the path by a symlink that leads out of the project. Work that goes through a held
 * directory is not affected: it happens in the directory that was at the path, wherever that directory is now.
 */
export interface HeldDirectory extends AsyncDisposable {
  /** The real path that the directory had when it was opened. */
  readonly path: string
  /** The directory itself: for `opendir`, and as the working directory of a child process. Valid until it is released. */
  readonly self: string
  /** The path of an entry, for calls of this process that do not follow a symlink at the end of a path. */
  entry(name: string): string
  /** Opens an entry. A symlink is not followed: the call fails with ELOOP. */
  open(name: string, flags: number, mode?: number): Promise<FileHandle>
  /** The entry itself; undefined if there is none. */
  stats(name: string): Promise<Stats | undefined>
  /** Throws a ReplacedError if the directory is no longer at its path. */
  check(): Promise<void>
}

export interface HoldOptions {
  /** Makes the directory, and those above it, if it does not exist. */
  create?: boolean
}

/** A directory is no longer where it was, or a path leads through a symlink although it was resolved before. */
export class ReplacedError extends Error {
  constructor(path: string) {
    super(`the directory ${path} was replaced meanwhile`)
    this.name = "ReplacedError"
  }
}

/** Throws for a name that leads out of the directory. Callers give names of entries, never paths. */
export function oneName(name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes(sep))
    throw new Error(`"${name}" is not the name of an entry of a directory.`)
  return name
}

export function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT"
}

export function undefinedIfAbsent(error: unknown): undefined {
  if (!isAbsent(error)) throw error
  return undefined
}
