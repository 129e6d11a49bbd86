import { literalWord, type Word } from "../parse/script.ts"

/** The known options of a command. Letters as one string, long names separated by spaces. */
export interface OptionTable {
  short?: string
  /** Letters that take a value: the rest of the word, or the next word. */
  valued?: string
  long?: string
  longValued?: string
  /** Letters and long names that make the command do something that its name does not say. */
  danger?: { short?: string; long?: string }
  /** True if options that are in no list are harmless too. */
  lenient?: boolean
}

export interface Options {
  given: { name: string; value?: Word }[]
  operands: Word[]
  /** Options that the table does not contain. */
  unknown: string[]
  /** Options that the table lists as dangerous, and words that may become any option. */
  dangerous: string[]
  /** Values that are part of an option's word and may name a file. */
  attached: Word[]
}

/** True if bash may turn the word into an option. */
export function mayBeOption(word: Word): boolean {
  if (word.value !== undefined || word.pipe || word.home) return false
  const open = word.prefix === "" || word.prefix.startsWith("-")
  return word.glob === undefined ? word.splits || open : open
}

/**
 * Parses arguments as getopt does: options anywhere, `--` ends them, letters in clusters, long names may be
 * abbreviated.
 */
export function readOptions(words: readonly Word[], table: OptionTable): Options {
  const options: Options = { given: [], operands: [], unknown: [], dangerous: [], attached: [] }
  const queue = [...words]
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    if (word.value === "--" && !word.home) {
      options.operands.push(...queue)
      break
    }
    if (word.value === undefined || word.home) {
      if (mayBeOption(word) && !(table.lenient && !table.danger)) options.dangerous.push(word.source)
      options.operands.push(word)
    } else if (word.value.startsWith("--")) readLong(word.value, { table, queue, options })
    else if (word.value.startsWith("-") && word.value !== "-")
      readCluster(word.value, { table, queue, options })
    else options.operands.push(word)
  }
  return options
}

interface Reading {
  table: OptionTable
  queue: Word[]
  options: Options
}

function readLong(text: string, { table, queue, options }: Reading): void {
  const equals = text.indexOf("=")
  const name = equals < 0 ? text.slice(2) : text.slice(2, equals)
  const attached = equals < 0 ? undefined : literalWord(text.slice(equals + 1))
  const names = (list: string | undefined) => (list ?? "").split(" ")
  const known = names(table.longValued).includes(name) || names(table.long).includes(name)
  const cut = names(table.danger?.long).some((one) => one !== "" && one.startsWith(name))
  if (cut && !known) options.dangerous.push(text)
  if (names(table.longValued).includes(name)) {
    options.given.push({ name: `--${name}`, value: attached ?? valueFrom(queue, { table, options }) })
    return
  }
  if (!known && !table.lenient) options.unknown.push(text)
  options.given.push({ name: `--${name}`, value: attached })
  if (attached) options.attached.push(attached)
}

function readCluster(text: string, { table, queue, options }: Reading): void {
  for (let i = 1; i < text.length; i++) {
    const letter = text[i]!
    if (table.danger?.short?.includes(letter)) options.dangerous.push(text)
    if (table.valued?.includes(letter)) {
      const rest = text.slice(i + 1)
      const value = rest === "" ? valueFrom(queue, { table, options }) : literalWord(rest)
      options.given.push({ name: `-${letter}`, value })
      return
    }
    if (!table.short?.includes(letter)) {
      if (!table.lenient) options.unknown.push(text)
      // The rest may be a value: text in it that looks like a path is treated as one.
      const rest = text.slice(i + 1)
      const path = /(?:~|\.{0,2})\/.*|^\.\.$/.exec(rest)?.[0]
      if (path) options.attached.push(literalWord(path))
    }
    options.given.push({ name: `-${letter}` })
  }
}

/** If bash may turn a value into several words, or none, the other words are operands or options. */
function valueFrom(queue: Word[], { table, options }: Omit<Reading, "queue">): Word | undefined {
  const value = queue.shift()
  if (value === undefined || value.value !== undefined || !value.splits) return value
  if (!(table.lenient && !table.danger)) options.dangerous.push(value.source)
  options.operands.push(value)
  return value
}

/** True if an option was given by this long name, or an abbreviation of it. */
export function hasLong(options: Options, ...names: string[]): boolean {
  return options.given.some(
    (one) => one.name.length > 2 && names.some((name) => `--${name}`.startsWith(one.name)),
  )
}

/** The values of these options. */
export function valuesOf(options: Options, ...names: string[]): Word[] {
  return options.given.flatMap((one) => (names.includes(one.name) && one.value ? [one.value] : []))
}

export function hasOption(options: Options, ...names: string[]): boolean {
  return options.given.some((one) => names.includes(one.name))
}

/** The options before the first operand, and the words from there on. */
export function readLeading(words: readonly Word[], table: OptionTable): { options: Options; rest: Word[] } {
  let end = 0
  while (end < words.length) {
    const word = words[end]!
    if (word.value === "--") {
      return { options: readOptions(words.slice(0, end), table), rest: words.slice(end + 1) }
    }
    if (!(word.value ?? word.prefix).startsWith("-") || word.home) break
    end += takesNext(word, table) ? 2 : 1
  }
  return { options: readOptions(words.slice(0, end), table), rest: words.slice(end) }
}

function takesNext(word: Word, table: OptionTable): boolean {
  const text = word.value ?? word.prefix
  if (text.startsWith("--")) return (table.longValued ?? "").split(" ").includes(text.slice(2))
  const at = [...text.slice(1)].findIndex((letter) => table.valued?.includes(letter))
  return at >= 0 && at === text.length - 2
}
