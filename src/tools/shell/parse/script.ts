/** A command line as bash would parse it, reduced to what matters for permission. */
export type Script = Statement[]

export type Statement =
  | SimpleCommand
  /** Items that run one after another. */
  | { kind: "sequence"; items: Statement[] }
  | { kind: "and" | "or"; left: Statement; right: Statement }
  | { kind: "not"; body: Statement }
  /** The commands of a pipe, a subshell or in the background. They do not change the shell that follows. */
  | { kind: "isolated"; bodies: Statement[] }
  | { kind: "loop"; variable?: string; words: Word[]; body: Statement }
  | { kind: "branch"; words: Word[]; condition?: Statement; bodies: Statement[] }
  | { kind: "function"; name: string; body: Statement }
  | { kind: "redirected"; body: Statement; redirects: Redirect[] }

export interface SimpleCommand {
  kind: "command"
  assignments: Assignment[]
  /** The name and its arguments; empty if only variables are set or files opened. */
  words: Word[]
  redirects: Redirect[]
}

export interface Assignment {
  name: string
  /** As written, with the value. */
  source: string
  substitutions: Script[]
}

export interface Redirect {
  /** `text` is a heredoc or herestring. */
  access: "read" | "edit" | "text"
  /** The file; for `text`, the text if its value is certain. */
  target: Word
}

export interface Word {
  /** As written. */
  source: string
  /** The value that bash gives the word, if it is certain: one word, without quotation marks and expansions. */
  value?: string
  /** The text that the value certainly begins with. */
  prefix: string
  /** True if bash may turn it into several words, or none. */
  splits: boolean
  /** An unquoted file name pattern. Quoted characters in it have a backslash before them. */
  glob?: string
  /** True if it is `~` or begins with an unquoted `~/`; `value` is the rest. */
  home?: boolean
  /** `<(...)`: the name of a pipe, not of a file. */
  pipe?: boolean
  /** Stands for any file below the directory that it names. */
  below?: boolean
  /** Only names below it that end in one of these. */
  endings?: string[]
  /** `name=(...)` in a declaration: its items are words, not a text that is parsed again. */
  list?: boolean
  /** How patterns show the word, if neither by its value nor as written. */
  text?: string
  /** Scripts that run before the command, in their own shells. */
  substitutions: Script[]
}

/** The reason why a text could not be parsed. */
export class Unparsed extends Error {}

export function literalWord(value: string): Word {
  return { source: quote(value), value, prefix: value, splits: false, substitutions: [] }
}

/** A word with an unknown value. */
export function unknownWord(source: string): Word {
  return { source, prefix: "", splits: true, substitutions: [] }
}

/** For patterns: quoted only where it is necessary. */
export function quote(value: string): string {
  return /^[^\s'"\\$`|&;<>()]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`
}

/** A word as patterns show it. */
export function shown(word: Word): string {
  if (word.text !== undefined) return word.text
  return word.value === undefined || word.home ? word.source : quote(word.value)
}
