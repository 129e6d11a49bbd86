/** Characters that HFS+ ignores when it compares names. */
const ignoredCharacters = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/**
 * A file name as the most lenient file system compares it: ignoring case, invisible characters, trailing dots and
 * spaces, and a stream name after a colon.
 */
export function foldName(name: string): string {
  const [beforeColon = ""] = name.normalize("NFKC").replace(ignoredCharacters, "").split(":")
  return beforeColon.toLowerCase().replace(/[. ]+$/, "")
}

/** True for any spelling of `.git`. `git~1` is its short name on Windows. */
export function isGitName(name: string): boolean {
  const folded = foldName(name)
  return folded === ".git" || folded === "git~1"
}

const configNames = ["stemma.json", "stemma.jsonc", ".stemma"]

/** True for a path component that belongs to a git directory or to Stemma's config. */
export function isGuardedName(name: string): boolean {
  return isGitName(name) || configNames.includes(foldName(name))
}
