import type { Word } from "../parse/script.ts"

/** The effects of a command, as far as its words show them. */
export interface CommandEffects {
  /**
   * `reads` changes nothing. `writes` changes only the files it names. `runs` may do anything: it is code, or a program
   * that no table contains.
   */
  effect: "reads" | "writes" | "runs"
  files: FileUse[]
  /**
   * Set if the command does something other than its name says. It then asks, whatever the rules say about its name.
   */
  hidden?: string
  /** Commands that it starts. */
  commands: InnerCommand[]
  /** Texts that it passes to a shell. */
  scripts: string[]
  /** Set if the texts run later, in whatever directory the shell is in then. */
  later?: boolean
}

export interface InnerCommand {
  words: Word[]
  /** Set if it starts in an unknown directory. */
  elsewhere?: boolean
}

export interface FileUse {
  /**
   * `edit` includes creating and removing, `directory` means working inside it, `name` is an argument of a program that
   * no table contains, and `repository` means that git reads the config around it.
   */
  access: "read" | "edit" | "directory" | "name" | "repository"
  /** Undefined if it may be any file of the workspace. */
  word: Word | undefined
  /** Includes everything below it. */
  recursive?: boolean
  /** Follows symlinks on the way down. */
  follows?: boolean
  /** Only names below it that end in one of these. */
  endings?: string[]
  /** Only names below it that do not begin with a dot, unless an ignore file says otherwise. */
  visible?: boolean
  /** Files below it are put elsewhere under their names. */
  spreads?: boolean
  /** May also be something other than a file, such as a revision: it counts only if such a file exists. */
  ifThere?: boolean
  /** The file names come from the input, so guarded files may be among them. */
  fromInput?: boolean
  /** If it is a directory, the files with the base names of these words are affected. */
  into?: Word[]
}

export function commandEffects(
  effect: CommandEffects["effect"],
  rest: Partial<Omit<CommandEffects, "effect">> = {},
): CommandEffects {
  return { effect, files: [], commands: [], scripts: [], ...rest }
}

export function reads(words: readonly Word[], more: Partial<FileUse> = {}): FileUse[] {
  return words.map((word) => ({ ...more, access: "read", word }))
}

export function edits(words: readonly Word[], more: Partial<FileUse> = {}): FileUse[] {
  return words.map((word) => ({ ...more, access: "edit", word }))
}

/** Any file of the workspace. */
export const editsAnything: FileUse = { access: "edit", word: undefined }

/** Files whose names come from an archive, a patch or a web response. */
export const editsFromInput: FileUse = { ...editsAnything, fromInput: true }

/** True for an argument that is certainly a path, for programs that no table contains. */
export function looksLikePath(word: Word): boolean {
  if (word.home) return true
  const text = word.value ?? word.glob ?? word.prefix
  return /^(?:\.{0,2}\/|\.\.$|~)|\/\.\.(?:\/|$)|(?:^|\/)\.(?:git|stemma)(?:\/|$)|(?:^|\/)stemma\.jsonc?$/i.test(
    text,
  )
}

/** The files that a program that no table contains may use, by its arguments. */
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
