import { mkdirSync } from "node:fs"
import { dirname } from "node:path"

/**
 * Makes a directory of the user and the directories above it. Node's own recursive call never ends where the system says
 * that a directory is missing though the directory above it is there, as in `/proc`: this one throws the system's error.
 */
export function makeDirectory(path: string): void {
  if (make(path)) return
  if (dirname(path) !== path) makeDirectory(dirname(path))
  make(path, { isLast: true })
}

/** False if a directory above is missing. */
function make(path: string, { isLast = false } = {}): boolean {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" && !isLast) return false
    if (code !== "EEXIST") throw error
  }
  return true
}
