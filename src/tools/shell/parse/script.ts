/** A command line as bash would read it, reduced to what matters for permission. */
export type Script = Statement[]

export type Statement =
  | SimpleCommand
  /** Run one after the other. `background` items and those of a pipe do not change the shell that follows. */
  | { kind: "sequence"; items: Statement[] }
  | { kind: "and" | "or"; left: Statement; right: Statement }
  | { kind: "not"; body: Statement }
  | { kind: "isolated"; bodies: Statement[] }
  | { kind: "loop"; variable?: string; words: Word[]; body: Statement }
  | { kind: "branch"; words: Word[]; condition?: Statement; bodies: Statement[] }
  | { kind: "function"; name: string; body: Statement }
  | { kind: "redirected"; body: Statement; redirects: Redirect[] }

export interface SimpleCommand {
  kind: "command"
  assignments: Assignment[]
  /** The name and its arguments; none if only variables are set or files opened. */
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
  /** The file; for `text` the text, where its value is certain. */
  target: Word
}

export interface Word {
  /** As written. */
  source: string
  /** What bash makes of it, if that is certain: one word, quotes gone, nothing expanded. */
  value?: string
  /** What it certainly begins with. */
  prefix: string
  /** True if bash may make several words of it, or none. */
  splits: boolean
  /** An unquoted pattern for file names; what was quoted in it has a backslash before it. */
  glob?: string
  /** Begins with an unquoted `~/` or is `~`; `value` is the rest. */
  home?: boolean
  /** `<(...)`: names a pipe, no file. */
  pipe?: boolean
  /** Stands for anything below the directory that it names. */
  below?: boolean
  /** Of what is below, only names that end like one of these. */
  endings?: string[]
  /** `name=(...)` where variables are declared: its items are words, not a text that is read again. */
  list?: boolean
  /** How patterns show it, if neither by its value nor as written. */
  text?: string
  /** Run before the command, in a shell of their own. */
  substitutions: Script[]
}

/** Why a text is not judged. */
export class Unparsed extends Error {}

export function literalWord(value: string): Word {
  return { source: quote(value), value, prefix: value, splits: false, substitutions: [] }
}

/** A word of which nothing is known. */
export function unknownWord(source: string): Word {
  return { source, prefix: "", splits: true, substitutions: [] }
}

/** For patterns: as it would be written by somebody who quotes only where it is needed. */
export function quote(value: string): string {
  return /^[^\s'"\\$`|&;<>()]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`
}

/** A word as patterns show it. */
export function shown(word: Word): string {
  if (word.text !== undefined) return word.text
  return word.value === undefined || word.home ? word.source : quote(word.value)
}
