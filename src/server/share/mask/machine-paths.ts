import type { Replacement } from "./text-span.ts"

/** A directory of this machine, and what is shown for it. */
export interface MachinePath {
  path: string
  text: string
}

/** Where directories of this machine are named: themselves, or as the beginning of a path. */
export function pathMarks(text: string, paths: readonly MachinePath[]): Replacement[] {
  const marks: Replacement[] = []
  for (const { path, text: shown } of paths) {
    for (const form of formsOf(path)) {
      for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + form.length)) {
        const end = at + form.length
        if (isWhole(text, { start: at, end, form })) marks.push({ start: at, end, text: shown })
      }
    }
  }
  return longestFirst(marks)
}

/** The paths that are worth hiding, the longest first, each once. */
export function machinePaths(paths: readonly MachinePath[]): MachinePath[] {
  const kept = new Map<string, MachinePath>()
  for (const { path, text } of paths) {
    const bare = path.replace(/[/\\]+$/, "")
    if (bare.length >= 4 && /^(?:\/|[A-Za-z]:\\|\\\\)/.test(bare) && !kept.has(bare))
      kept.set(bare, { path: bare, text })
  }
  return [...kept.values()].sort((a, b) => b.path.length - a.path.length)
}

/** As it is, in JSON, in JSON of PHP, and in an address, where the hex may be in small letters. */
function formsOf(path: string): Set<string> {
  const encoded = encodeURIComponent(path)
  return new Set([
    path,
    JSON.stringify(path).slice(1, -1),
    path.replaceAll("/", "\\/"),
    encodeURI(path),
    encoded,
    encoded.replace(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase()),
  ])
}

/** What ends with a letter and yet is no word: an escaped line break, an encoded character, a colour code. */
const noWord = /(?:\\[nrt]|%[0-9A-Fa-f]{2}|\[[0-9;]{0,8}[mK])$/

/** A directory with one name only, such as /app, is also the end of an address or of another path. */
function isWhole(text: string, { start, end, form }: { start: number; end: number; form: string }): boolean {
  if (/^[A-Za-z0-9_-]|^\.[A-Za-z0-9]/.test(text.slice(end, end + 2))) return false
  const isShort = form.split(/\\?\/|\\+|%2F/i).length <= 2
  const near = text.slice(Math.max(0, start - 12), start)
  // The backslash belongs to the slash.
  const before = form.startsWith("/") ? near.replace(/\\$/, "") : near
  return !isShort || !/[A-Za-z0-9._~-]$/.test(before) || noWord.test(before)
}

/** Of marks that overlap, the one that begins first stays; of those that begin together, the longest. */
function longestFirst(marks: Replacement[]): Replacement[] {
  let end = 0
  return marks
    .sort((a, b) => a.start - b.start || b.end - a.end)
    .filter((mark) => {
      if (mark.start < end) return false
      end = mark.end
      return true
    })
}
