import { type Stats, statSync } from "node:fs"
import { StemmaError } from "../protocol/index.ts"
import { shownLine } from "./terminal/terminal.ts"

/** Throws if nobody can work in a directory, before anything is made for it. */
export function checkDirectory(path: string): void {
  const found = lookAt(path)
  if (found?.isDirectory()) return
  throw new StemmaError(
    "not_found",
    found
      ? `${shownLine(path)} is no directory. Name another one.`
      : `There is no directory ${shownLine(path)}. Make it first, or name another one.`,
  )
}

function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return undefined
    throw new StemmaError("denied", `${shownLine(path)} cannot be looked at: ${message}. Name another one.`, {
      cause: error,
    })
  }
}
