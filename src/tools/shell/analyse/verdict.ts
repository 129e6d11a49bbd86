import type { Word } from "../parse/script.ts"

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
  /** Set if the texts run later, wherever the shell is by then. */
  later?: boolean
}

export interface InnerCommand {
  words: Word[]
  /** Set if it starts in a directory that is not known. */
  elsewhere?: boolean
}

export interface FileUse {
  /**
   * `edit` also makes and removes, `directory` works inside of it, `name` is for an argument of a program that no
   * table knows, and `repository` has git read the config around it.
   */
  access: "read" | "edit" | "directory" | "name" | "repository"
  /** Undefined if it may be any file of the workspace. */
  word: Word | undefined
  /** Everything below it too. */
  recursive?: boolean
  /** On its way down it goes through symlinks. */
  follows?: boolean
  /** Of what is below, only names that end like one of these. */
  endings?: string[]
  /** Of what is below, nothing whose name begins with a dot, unless an ignore file says otherwise. */
  visible?: boolean
  /** What is below is put elsewhere under the names that it has. */
  spreads?: boolean
  /** May as well be something else than a file, such as a revision: counts if there is such a file. */
  ifThere?: boolean
  /** The names of files come from the input, so guarded ones may be among them. */
  fromInput?: boolean
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

/** Files whose names stand in an archive, a patch or an answer from the web. */
export const editsFromInput: FileUse = { ...editsAnything, fromInput: true }

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
