import { type Stats, statSync } from "node:fs"
import { realpath } from "node:fs/promises"
import { StemmaError } from "../protocol/index.ts"
import { printableLine } from "./terminal/terminal.ts"

/** Throws if the directory does not exist, before a session is created for it. */
export function checkDirectory(path: string): void {
  const found = statOf(path)
  if (found?.isDirectory()) return
  throw new StemmaError(
    "not_found",
    found
      ? `${printableLine(path)} is not a directory. Name another one.`
      : `There is no directory ${printableLine(path)}. Create it, or name another one.`,
  )
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return undefined
    throw new StemmaError(
      "denied",
      `${printableLine(path)} cannot be read: ${message}. Name another directory.`,
      {
        cause: error,
      },
    )
  }
}

/** The path without symlinks; the path itself if it cannot be resolved. */
export async function realPathOrSame(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}
