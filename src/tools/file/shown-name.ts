import { replaceUnseen } from "../../session/index.ts"

/**
 * A file's name as it is shown: one line that means nothing to a terminal. A name with characters that cannot be seen comes
 * as a JSON string, with these escaped; as any other name it can be given back as it is shown.
 */
export function shownName(name: string): string {
  if (escaped(name) === name) return name
  return `"${escaped(name.replace(/[\\"]/g, "\\$&"))}"`
}

/** The path that was meant, if it was given as `shownName` shows one. */
export function meantPath(path: string): string {
  if (!/^".*\\.*"$/.test(path)) return path
  try {
    const meant: unknown = JSON.parse(path)
    return typeof meant === "string" && meant !== "" && shownName(meant) !== meant ? meant : path
  } catch {
    return path
  }
}

function escaped(text: string): string {
  return replaceUnseen(text, escapeOf).replace(/[\t-\r\u0085\u2028\u2029]/g, escapeOf)
}

const short: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

function escapeOf(characters: string): string {
  return short[characters] ?? characters.split("").map(unitEscape).join("")
}

function unitEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
}
