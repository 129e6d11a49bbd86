/** Characters that HFS+ leaves out when it compares names. */
const unseen = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/**
 * A file name as the most forgiving file system compares it: without regard to case, to characters that cannot be seen, to
 * trailing dots and spaces, and to a stream's name after a colon.
 */
export function foldName(name: string): string {
  const [beforeColon = ""] = name.normalize("NFKC").replace(unseen, "").split(":")
  return beforeColon.toLowerCase().replace(/[. ]+$/, "")
}

/** True for `.git` by any of its names; `git~1` is its short name on Windows. */
export function isGitName(name: string): boolean {
  const folded = foldName(name)
  return folded === ".git" || folded === "git~1"
}

const configNames = ["stemma.json", "stemma.jsonc", ".stemma"]

/** True for a component of a path that makes it part of a git directory or of Stemma's config. */
export function isGuardedName(name: string): boolean {
  return isGitName(name) || configNames.includes(foldName(name))
}
