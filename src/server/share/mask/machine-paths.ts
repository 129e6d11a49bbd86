import { type Replacement, withoutOverlaps } from "./text-span.ts"

/** A directory of this machine, and the text that replaces it. */
export interface MachinePath {
  path: string
  text: string
}

/** Finds directories of this machine, alone or as the beginning of a path. */
export function pathReplacements(text: string, paths: readonly MachinePath[]): Replacement[] {
  const found: Replacement[] = []
  for (const { path, text: shown } of paths) {
    for (const form of encodedForms(path)) {
      for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + form.length)) {
        const end = at + form.length
        if (isWholePath(text, { start: at, end, form })) found.push({ start: at, end, text: shown })
      }
    }
  }
  return withoutOverlaps(found)
}

/** The paths that are worth masking, the longest first, without duplicates. */
export function machinePaths(paths: readonly MachinePath[]): MachinePath[] {
  const kept = new Map<string, MachinePath>()
  for (const { path, text } of paths) {
    const bare = path.replace(/[/\\]+$/, "")
    if (bare.length >= 4 && /^(?:\/|[A-Za-z]:\\|\\\\)/.test(bare) && !kept.has(bare))
      kept.set(bare, { path: bare, text })
  }
  return [...kept.values()].sort((a, b) => b.path.length - a.path.length)
}

/** The forms of a path: plain, in JSON, in JSON of PHP, and in a URL, also with lower-case hex digits. */
function encodedForms(path: string): Set<string> {
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

/**
 * Texts that end with a letter but do not continue a word: an escaped line break, an encoded character, a colour code.
 */
const wordBoundary = /(?:\\[nrt]|%[0-9A-Fa-f]{2}|\[[0-9;]{0,8}[mK])$/

/** A directory with one name only, such as /app, may also be the end of a URL or of another path. */
function isWholePath(
  text: string,
  { start, end, form }: { start: number; end: number; form: string },
): boolean {
  if (/^[A-Za-z0-9_-]|^\.[A-Za-z0-9]/.test(text.slice(end, end + 2))) return false
  const isShort = form.split(/\\?\/|\\+|%2F/i).length <= 2
  const near = text.slice(Math.max(0, start - 12), start)
  // A backslash before the slash is an escape.
  const before = form.startsWith("/") ? near.replace(/\\$/, "") : near
  return !isShort || !/[A-Za-z0-9._~-]$/.test(before) || wordBoundary.test(before)
}
