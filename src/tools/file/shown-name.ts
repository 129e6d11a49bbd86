import { replaceUnseen } from "../../session/index.ts"

/**
 * A file name as it is shown: one line without escape sequences. A name with invisible characters is shown as a JSON
 * string, with these characters escaped. A shown name can be passed back as a path.
 */
export function shownName(name: string): string {
  if (escaped(name) === name) return name
  return `"${escaped(name.replace(/[\\"]/g, "\\$&"))}"`
}

/** The path that was meant, if it was given in the form that `shownName` returns. */
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
