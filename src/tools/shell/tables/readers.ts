import {
  type CommandEffects,
  commandEffects,
  edits,
  type FileUse,
  looksLikePath,
  reads,
} from "../analyse/command-effects.ts"
import { literalWord, shown, type Word } from "../parse/script.ts"
import {
  hasLong,
  hasOption,
  mayBeOption,
  type Options,
  type OptionTable,
  readLeading,
  readOptions,
  valuesOf,
} from "./options.ts"

interface Reader extends OptionTable {
  /** The operands that are files to read; all of them if absent. */
  operands?: "none" | "after-first" | "paths"
  /** Operands beyond this number are files to write. */
  operandsMax?: number
  /** Options whose values are files to read. */
  files?: string[]
  /** With one of these options, the first operand is a file too. */
  instead?: string[]
}

const any: Reader = { lenient: true }
const noFiles: Reader = { lenient: true, operands: "none" }

function each(names: string, reader: Reader): Record<string, Reader> {
  return Object.fromEntries(names.split(" ").map((name) => [name, reader]))
}

/** Commands that change nothing with the options of their tables. */
const readers: Record<string, Reader> = {
  ...each(
    "cat tac head tail wc ls dir vdir stat du df nl od rev fold fmt expand unexpand paste join comm cmp diff cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum realpath readlink zcat column cut",
    any,
  ),
  ...each(
    "echo true false : pwd basename dirname tr seq sleep whoami id groups uname nproc uptime free printenv locale which expr numfmt getconf tty times exit return break continue shift",
    noFiles,
  ),
  // On macOS, arch starts the program that it gets.
  arch: { operands: "none", operandsMax: 0 },
  hexdump: { short: "bcCdovx", valued: "ns", danger: { short: "ef" } },
  strings: { lenient: true, valued: "neotsT", danger: { short: "T" } },
  jobs: { short: "lnprs", operands: "none" },
  type: { short: "afptP", operands: "none" },
  ...each("test [ [[", { lenient: true, operands: "paths" }),
  hostname: { short: "fisdIAa", operands: "none", operandsMax: 0 },
  date: {
    short: "uRI",
    valued: "dr",
    long: "utc universal rfc-2822 rfc-email iso-8601",
    longValued: "date reference rfc-3339",
    operands: "none",
    files: ["-r", "--reference"],
    danger: { short: "s", long: "set" },
  },
  uniq: {
    short: "cdDiuz",
    valued: "fsw",
    long: "count repeated ignore-case unique zero-terminated",
    operandsMax: 1,
  },
  file: {
    short: "bhikLNnprsvzEd0",
    valued: "Ff",
    long: "brief mime mime-type mime-encoding dereference no-dereference",
    files: ["-f"],
    danger: { short: "Cm", long: "compile magic-file" },
  },
  tree: {
    short: "adfliqNQpsughDtrcvUCxJXFnS",
    valued: "LPI",
    long: "noreport dirsfirst gitignore du prune matchdirs",
    danger: { short: "oR" },
  },
  sort: {
    short: "bdfghiMnRrVcCmsuz",
    valued: "kSt",
    long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort month-sort numeric-sort random-sort reverse version-sort check merge stable unique zero-terminated debug",
    longValued: "key buffer-size field-separator parallel sort batch-size",
    danger: { long: "compress-program files0-from" },
  },
  ...each("grep egrep fgrep zgrep", {
    lenient: true,
    valued: "ABCDdefm",
    longValued:
      "regexp file max-count after-context before-context context include exclude exclude-from exclude-dir",
    operands: "after-first",
    files: ["-f", "--file", "--exclude-from"],
    instead: ["-e", "-f", "--regexp", "--file"],
  }),
  rg: {
    short: "nilLcvwxsSFPoNHhuUpqaIb0.",
    valued: "ABCegtTmjdrMEf",
    long: "line-number ignore-case files-with-matches files-without-match count count-matches invert-match word-regexp line-regexp case-sensitive smart-case fixed-strings pcre2 only-matching no-line-number with-filename no-filename unrestricted multiline multiline-dotall heading no-heading hidden no-hidden no-ignore no-ignore-vcs files type-list json vimgrep stats text trim follow null column no-messages pretty quiet version help",
    longValued:
      "after-context before-context context regexp file glob iglob type type-not max-count max-depth max-columns max-filesize color colors sort sortr threads replace encoding",
    operands: "after-first",
    files: ["-f", "--file"],
    instead: ["-e", "-f", "--regexp", "--file", "--files", "--type-list"],
    danger: { long: "pre pre-glob hostname-bin search-zip" },
  },
}

export const readerNames: ReadonlySet<string> = new Set([...Object.keys(readers), "printf", "ps", "jq"])

export function readerEffects(name: string, words: readonly Word[]): CommandEffects | undefined {
  const reader = readers[name]
  if (name === "printf") return printfEffects(words)
  if (name === "ps") return psEffects(words)
  if (name === "jq") return jqEffects(words)
  if (reader === undefined || !Object.hasOwn(readers, name)) return undefined
  if (name === "sort") return sortEffects(words)
  const options = readOptions(words, reader)
  const files = [...valuesOf(options, ...(reader.files ?? [])), ...options.attached]
  const max = reader.operandsMax ?? Number.POSITIVE_INFINITY
  const operands = options.operands.slice(0, max)
  if (reader.operands === "paths") files.push(...operands.filter((word) => looksLikePath(word) || word.glob))
  else if (reader.operands !== "none") {
    const skip = reader.operands === "after-first" && !hasOption(options, ...(reader.instead ?? []))
    files.push(...operands.slice(skip ? 1 : 0))
  }
  const tree = treeOf(name, options)
  const searched = operands.length - (hasOption(options, ...(reader.instead ?? [])) ? 0 : 1)
  if (tree.recursive && reader.operands === "after-first" && searched < 1) files.push(literalWord("."))
  const written = options.operands.slice(max)
  const setsClock = name === "date" && options.operands.some((word) => !word.prefix.startsWith("+"))
  // A word such as @file names a file with more words in it.
  const listed = name === "strings" ? operands.filter((word) => /^(?:@|$)/.test(word.prefix)) : []
  const evaluates = isTest(name) && evaluatesWords(name, words) ? [words.map(shown).join(" ")] : []
  const harmless = options.unknown.length === 0 && written.length === 0 && !setsClock
  return commandEffects(harmless ? "reads" : "runs", {
    files: [...reads(files, tree), ...edits(written)],
    ...hiddenIn(name, [
      ...options.dangerous,
      ...options.unknown,
      ...evaluates,
      ...listed.map((word) => word.source),
    ]),
  })
}

/** Whether a command reads everything below its directories, and which of the files. */
function treeOf(name: string, options: Options): Partial<FileUse> {
  if (name === "diff") return { recursive: true, follows: true }
  if (name === "rg") {
    const hidden = hasOption(
      options,
      "-u",
      "-.",
      "--hidden",
      "--unrestricted",
      "--no-ignore",
      "--no-ignore-vcs",
    )
    const globs = valuesOf(options, "-g", "--glob", "--iglob")
    const endings = endingsIn(valuesOf(options, "-g", "--glob"))
    return {
      recursive: true,
      follows: hasOption(options, "-L", "--follow"),
      visible: !hidden && globs.every((glob) => glob.value?.startsWith("!")),
      ...(endings && globs.length === valuesOf(options, "-g", "--glob").length ? { endings } : {}),
    }
  }
  if (!/grep$/.test(name)) return {}
  const follows = hasOption(options, "-R") || hasLong(options, "dereference-recursive")
  const recursive = follows || hasOption(options, "-r", "-d") || hasLong(options, "recursive", "directories")
  const endings = hasLong(options, "exclude", "exclude-from")
    ? undefined
    : endingsIn(valuesOf(options, "--include"))
  return { recursive, follows, ...(endings ? { endings } : {}) }
}

/** The endings, if all of these are patterns such as `*.ts` or `*.{ts,tsx}`. */
function endingsIn(patterns: readonly Word[]): string[] | undefined {
  const found = patterns.map((pattern) => /^\*\.(?:(\w+)|\{([\w,]+)\})$/.exec(pattern.value ?? ""))
  if (found.length === 0 || found.includes(null)) return undefined
  return found.flatMap((one) => (one![1] ?? one![2]!).split(",").map((ending) => `.${ending}`))
}

/**
 * jq: a program with an import reads modules from anywhere. With `--rawfile` and similar options, names come before
 * files.
 */
function jqEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, {
    short: "nrRjascCSMehV",
    valued: "L",
    long: "null-input raw-output raw-input raw-output0 join-output ascii-output slurp compact-output color-output monochrome-output sort-keys exit-status tab unbuffered stream stream-errors seq arg argjson slurpfile rawfile args jsonargs help version",
    longValued: "indent",
    danger: { short: "f", long: "from-file argfile" },
  })
  const imports = options.operands.filter((word) => {
    if (word.value !== undefined)
      return /\b(?:import|include|module)\b/.test(word.value) && /["@]/.test(word.value)
    return word.prefix === "" || /^[\s#a-z]/.test(word.prefix)
  })
  return commandEffects(options.unknown.length === 0 ? "reads" : "runs", {
    files: reads([...options.operands.slice(1), ...valuesOf(options, "-L"), ...options.attached]),
    ...hiddenIn("jq", [...options.dangerous, ...options.unknown, ...imports.map((word) => word.source)]),
  })
}

function isTest(name: string): boolean {
  return name === "test" || name === "[" || name === "[["
}

/** `-v` evaluates an index in the name that it gets, so no word may become a `-v`. */
function evaluatesWords(name: string, words: readonly Word[]): boolean {
  if (words.some((word) => /^-[vR]$/.test(word.value ?? ""))) return true
  // Between [[ and ]] operators are syntax: no expansion makes one.
  if (name === "[[" || words.every((word) => word.value !== undefined)) return false
  if (words.some((word) => word.value === undefined && word.splits)) return true
  const logical = /^(?:!|-a|-o|\(|\)|\])$/
  const groups: Word[][] = [[]]
  for (const word of words) {
    if (logical.test(word.value ?? "")) groups.push([])
    else groups.at(-1)!.push(word)
  }
  return !groups.every(isCertainTest)
}

function isCertainTest(group: readonly Word[]): boolean {
  const [first, second] = group
  if (group.length < 2) return true
  if (group.length === 2) return /^-[a-zA-Z]$/.test(first!.value ?? "")
  return group.length === 3 && /^(?:[=<>]|==|!=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))$/.test(second!.value ?? "")
}

function printfEffects(words: readonly Word[]): CommandEffects {
  const { options } = readLeading(words, { danger: { short: "v" } })
  const unsure = words[0] && mayBeOption(words[0]) && words.length > 1 ? [words[0].source] : []
  const [format, ...values] = words.filter((word) => word.value !== "--")
  // `%n` sets the variable that it names, such as PATH.
  const sets = format?.value === undefined || /%[^%a-zA-Z]*[hjlLtz]*n/.test(format.value)
  const setting = format && sets && (values.length > 0 || format.splits) ? [format.source] : []
  return commandEffects(
    "reads",
    hiddenIn("printf", [...options.dangerous, ...options.unknown, ...unsure, ...setting]),
  )
}

/** ps lists processes. Without a dash, `e` shows their environments, which may contain keys. */
function psEffects(words: readonly Word[]): CommandEffects {
  const known =
    /^(?:-e[fFlyj]*|-A[fFlj]*|-[flupoC]|aux?w*f?|axw*|axjf|--forest|--no-headers|--sort=[-+\w,%]+)$/
  const strange = words.filter((word, index) => {
    const isValue = /^-[upoC]$/.test(words[index - 1]?.value ?? "")
    return !(isValue ? /^[\w,%=.:-]+$/ : known).test(word.value ?? "")
  })
  return commandEffects(
    "reads",
    hiddenIn(
      "ps",
      strange.map((word) => word.source),
    ),
  )
}

function sortEffects(words: readonly Word[]): CommandEffects {
  const table = readers.sort!
  const options = readOptions(words, {
    ...table,
    valued: `${table.valued}oT`,
    longValued: `${table.longValued} output temporary-directory`,
  })
  const outputs = valuesOf(options, "-o", "--output", "-T", "--temporary-directory")
  // The value of an abbreviated name: `--out=f`.
  if (options.unknown.length > 0) outputs.push(...options.attached)
  return commandEffects(outputs.length > 0 ? "writes" : options.unknown.length > 0 ? "runs" : "reads", {
    files: [...reads([...options.operands, ...options.attached]), ...edits(outputs)],
    ...hiddenIn("sort", [...options.dangerous, ...options.unknown]),
  })
}

/** The reason to ask about options that do something unexpected of the command. */
export function hiddenIn(name: string, dangerous: readonly string[]): { hidden?: string } {
  if (dangerous.length === 0) return {}
  return { hidden: `${name} ${dangerous[0]} may run or write something that ${name} normally does not.` }
}
