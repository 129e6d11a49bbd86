import type { Word } from "./script.ts"

/** What a command does, as far as its words say. */
export interface Verdict {
  /**
   * `reads` changes nothing; `writes` changes the files it names, and no others; `runs` may do anything: it is code,
   * or a program that no table knows.
   */
  effect: "reads" | "writes" | "runs"
  files: FileUse[]
  /** Set if it does something else than its name says: it asks, whatever the rules say about its name. */
  hidden?: string
  /** Commands that it starts. */
  commands: InnerCommand[]
  /** Texts that it has a shell run. */
  scripts: string[]
}

export interface InnerCommand {
  words: Word[]
  /** Set if it starts in a directory that is not known. */
  elsewhere?: boolean
}

export interface FileUse {
  /**
   * `edit` also makes and removes, `directory` works inside of it, and `name` is for an argument of a program that no
   * table knows.
   */
  access: "read" | "edit" | "directory" | "name"
  /** Undefined if it may be any file of the workspace. */
  word: Word | undefined
  /** Everything below it too. */
  recursive?: boolean
  /** If it is a directory, the files with the base names of these are what is meant. */
  into?: Word[]
}

export function verdict(effect: Verdict["effect"], rest: Partial<Omit<Verdict, "effect">> = {}): Verdict {
  return { effect, files: [], commands: [], scripts: [], ...rest }
}

export function reads(words: readonly Word[], more: Partial<FileUse> = {}): FileUse[] {
  return words.map((word) => ({ ...more, access: "read", word }))
}

export function edits(words: readonly Word[], more: Partial<FileUse> = {}): FileUse[] {
  return words.map((word) => ({ ...more, access: "edit", word }))
}

/** Every file of the workspace. */
export const editsAnything: FileUse = { access: "edit", word: undefined }

/** An argument that is certainly meant as a path, for programs of which nothing is known. */
export function looksLikePath(word: Word): boolean {
  if (word.home) return true
  const text = word.value ?? word.glob ?? word.prefix
  return /^(?:\.{0,2}\/|\.\.$|~)|\/\.\.(?:\/|$)|(?:^|\/)\.(?:git|stemma)(?:\/|$)|(?:^|\/)stemma\.jsonc?$/i.test(
    text,
  )
}

/** What a program of which nothing is known may do with its arguments. */
export function namedFiles(words: readonly Word[]): FileUse[] {
  const values = words.flatMap((word) => {
    const text = word.value
    if (text === undefined || word.home) return [word]
    const parts = [text, ...(text.includes("=") ? [text.slice(text.indexOf("=") + 1)] : [])]
    if (/^-[A-Za-z]/.test(text)) parts.push(text.slice(2))
    return parts.map((part) => ({ ...word, value: part, prefix: part }))
  })
  return values.filter(looksLikePath).map((word) => ({ access: "name", word }))
}
