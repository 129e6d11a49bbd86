import { type CommandEffects, commandEffects, edits, reads } from "../analyse/command-effects.ts"
import { literalWord, unknownWord, type Word } from "../parse/script.ts"
import { readOptions, valuesOf } from "./options.ts"
import { hiddenIn } from "./readers.ts"
import { riskySuffixes, withSuffixes } from "./suffixes.ts"

/**
 * sed reads if its script only prints and replaces. `-i` edits its files. `w`, `r`, `e` and script files are hidden
 * effects.
 */
export function sedEffects(words: readonly Word[]): CommandEffects {
  const inPlace = words.some((word) => word.value !== undefined && /^(?:-[nErsuz]*i|--i)/.test(word.value))
  const plain = words.filter((word) => !(inPlace && /^-[nErsuz]*i|^--i/.test(word.value ?? "")))
  const suffixes = words.flatMap((word) => suffixOf(word))
  const options = readOptions(plain, {
    short: "nErsuz",
    valued: "e",
    long: "quiet silent regexp-extended separate unbuffered null-data debug posix sandbox",
    longValued: "expression",
    danger: { short: "f", long: "file" },
  })
  const given = valuesOf(options, "-e", "--expression")
  const scripts = given.length > 0 ? given : options.operands.slice(0, 1)
  const files = given.length > 0 ? options.operands : options.operands.slice(1)
  const safe = scripts.every((script) => script.value !== undefined && isPlainSed(script.value))
  const dangerous = [
    ...options.dangerous,
    ...options.unknown,
    ...(safe ? [] : scripts.map((script) => script.source)),
    ...suffixes.filter((suffix) => /[*/]/.test(suffix)),
    ...riskySuffixes(suffixes, files),
  ]
  return commandEffects(inPlace ? "writes" : safe && options.unknown.length === 0 ? "reads" : "runs", {
    files: inPlace ? [...edits(files), ...edits(withSuffixes(files, suffixes))] : reads(files),
    ...hiddenIn("sed", dangerous),
  })
}

/** `-i.bak`: the old file is kept under another name, which the suffix may even give as a whole. */
function suffixOf(word: Word): string[] {
  const found = /^(?:-[nErsuz]*i(.+)|--i[a-z-]*=(.+))$/s.exec(word.value ?? "")
  return found ? [found[1] ?? found[2]!] : []
}

/** True if a sed script certainly touches no file and runs nothing. */
export function isPlainSed(script: string): boolean {
  let at = 0
  const skip = (pattern: RegExp): string | undefined => {
    const sticky = new RegExp(pattern.source, "sy")
    sticky.lastIndex = at
    const found = sticky.exec(script)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const regex = String.raw`/(?:[^/\\\n[]|\\[^\n]|\[\^?\]?[^\]\n]*\])*/[IM]*`
  const address = new RegExp(String.raw`(?:\d+(?:~\d+)?|\$|${regex})`)
  while (at < script.length) {
    skip(/[\s;{}]*/)
    if (at >= script.length) return true
    if (skip(address) !== undefined && skip(/\s*,\s*/) !== undefined) {
      if (skip(/[+~]\d+/) === undefined && skip(address) === undefined) return false
    }
    skip(/\s*!?\s*/)
    if (skip(/\{/) !== undefined) continue
    if (skip(/[sy]/) !== undefined) {
      if (!skipParts(skip)) return false
      if (skip(/[gpiIm0-9]*/) === undefined) return false
    } else if (skip(/[aic][^\n\\]*(?=\n|$)/) !== undefined) continue
    else if (skip(/[pdDPnNgGhHxl=F]|[qQ]\s*\d*/) === undefined) return false
    if (at < script.length && skip(/\s*(?:[;}\n]|$)/) === undefined) return false
  }
  return true
}

/** The two parts of `s/a/b/`, with any delimiter that is not a letter, digit, blank or backslash. */
function skipParts(skip: (pattern: RegExp) => string | undefined): boolean {
  const mark = skip(/[^\w\s\\]/)
  if (mark === undefined) return false
  const escaped = mark.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")
  const part = new RegExp(String.raw`(?:[^${escaped}\\]|\\.)*${escaped}`)
  return skip(part) !== undefined && skip(part) !== undefined
}

/** awk reads if its program neither writes, pipes, runs nor loads anything. */
export function awkEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, {
    valued: "Fv",
    danger: {
      short: "fieEloDdpLW",
      long: "file include exec load source profile dump-variables debug pretty-print",
    },
  })
  const [program, ...files] = options.operands
  const plain = program?.value !== undefined && isPlainAwk(program.value)
  const dangerous = [...options.dangerous, ...options.unknown, ...(plain || !program ? [] : [program.source])]
  const paths = files.filter((word) => !/^[A-Za-z_]\w*=/.test(word.value ?? ""))
  const assigned = files.filter((word) => /^[A-Za-z_]\w*=/.test(word.value ?? ""))
  return commandEffects(plain && options.unknown.length === 0 && assigned.length === 0 ? "reads" : "runs", {
    files: reads(paths),
    ...hiddenIn("awk", dangerous),
  })
}

/** `>` may be a comparison and `|` an "or", but a mistake in telling them apart would be a security hole. */
function isPlainAwk(program: string): boolean {
  return !/system|getline|[>|@]|close|fflush|ARG|SYMTAB|FUNCTAB|\\\r?\n/.test(program.replaceAll("||", ""))
}

const findTests = new Set(
  "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -maxdepth -mindepth -user -group -uid -gid -perm -links -inum -samefile -fstype -lname -ilname -used -printf -newermt -newerat -newerct -newermm".split(
    " ",
  ),
)
const findFlags = new Set(
  "-print -print0 -ls -prune -quit -depth -empty -readable -writable -executable -nouser -nogroup -true -false -not -and -or -a -o ! ( ) , -mount -xdev -daystart -follow -noleaf -warn -nowarn -ignore_readdir_race -noignore_readdir_race".split(
    " ",
  ),
)
const findWrites = new Set("-fprint -fprint0 -fls -fprintf".split(" "))
const findRuns = new Set("-exec -execdir -ok -okdir".split(" "))

/**
 * find reads if it has only tests. `-delete` and `-fprint` edit. `-exec` starts a command on the files that it finds.
 */
export function findEffects(words: readonly Word[]): CommandEffects {
  let at = 0
  while (/^-(?:[HLP]+|O\d?)$/.test(words[at]?.value ?? "")) at++
  const starts: Word[] = []
  while (at < words.length && !/^[-(!,]/.test(words[at]!.value ?? (words[at]!.prefix || "x")))
    starts.push(words[at++]!)
  const result = commandEffects("reads", { files: reads(starts) })
  const unknown = starts.filter(
    (word) =>
      word.value === undefined &&
      ((word.splits && word.glob === undefined) || (!word.home && !/^[^-(!,]/.test(word.prefix))),
  )
  const dangerous = unknown.map((word) => word.source)
  const endings = endingsOf(words.slice(at))
  while (at < words.length) {
    const word = words[at++]!
    const name = word.value ?? ""
    if (findFlags.has(name)) continue
    if (findTests.has(name)) {
      const value = words[at++]
      if (value && mayBeMore(value)) dangerous.push(value.source)
    } else if (name === "-delete") {
      result.effect = "writes"
      result.files.push(
        ...edits(starts, { recursive: true }),
        ...(starts.length === 0 ? [{ access: "edit" as const, word: undefined }] : []),
      )
    } else if (findWrites.has(name)) {
      result.effect = "writes"
      result.files.push(...edits(words.slice(at, at + 1)))
      at += name === "-fprintf" ? 2 : 1
    } else if (findRuns.has(name)) {
      const end = endOfExec(words, { from: at, plus: /^-exec/.test(name) })
      const inner = words.slice(at, end < 0 ? words.length : end)
      dangerous.push(...inner.filter(mayEndExec).map((one) => one.source))
      at = end < 0 ? words.length : end + 1
      const elsewhere = name.endsWith("dir")
      result.commands.push({
        words: inner.flatMap((one) => putIn(one, { starts, endings })),
        ...(elsewhere ? { elsewhere } : {}),
      })
    } else dangerous.push(word.source)
  }
  return { ...result, ...hiddenIn("find", dangerous) }
}

/** The command of `-exec` ends at `;`, or at a `+` right after `{}`. */
function endOfExec(words: readonly Word[], { from, plus }: { from: number; plus: boolean }): number {
  return words.findIndex(
    (word, index) =>
      index >= from &&
      (word.value === ";" ||
        (plus && word.value === "+" && index > from && words[index - 1]!.value === "{}")),
  )
}

/** True if bash may turn the word into several words, among them one that find treats as a test or an action. */
function mayBeMore(word: Word): boolean {
  if (word.value !== undefined || !word.splits) return false
  return word.glob === undefined || (/^(?:$|[-(!,])/.test(word.prefix) && !/\.\w+$/.test(word.glob))
}

function mayEndExec(word: Word): boolean {
  if (word.value !== undefined || word.pipe) return false
  return word.splits ? mayBeMore(word) || /^[;+{]/.test(word.prefix) : word.prefix === ""
}

/** The endings that `-name '*.ts'` selects, if no other test widens the selection. */
function endingsOf(words: readonly Word[]): string[] | undefined {
  const values = words.map((word) => word.value ?? "")
  if (values.some((value) => /^(?:-o|-or|,|!|-not|\()$/.test(value))) return undefined
  const first = values.findIndex((value) => findRuns.has(value))
  const at = values.indexOf("-name")
  const [, ending] = at >= 0 && at < first ? (/^\*(\.\w+)$/.exec(values[at + 1] ?? "") ?? []) : []
  return ending === undefined ? undefined : [ending]
}

/** `{}` is some file below the directories where find starts. */
function putIn(
  word: Word,
  { starts, endings }: { starts: readonly Word[]; endings: string[] | undefined },
): Word[] {
  if (word.value === undefined || !word.value.includes("{}")) return [word]
  if (word.value !== "{}") return [unknownWord(word.source)]
  const from = starts.length === 0 ? [literalWord(".")] : starts
  return from.map((start) => ({ ...start, text: "{}", below: true, ...(endings ? { endings } : {}) }))
}

/** dd: `of=` edits, `if=` reads. */
export function ddEffects(words: readonly Word[]): CommandEffects {
  const result = commandEffects("writes")
  for (const word of words) {
    const [, key, path] = /^(if|of)=(.*)$/s.exec(word.value ?? "") ?? []
    if (key === "if") result.files.push(...reads([{ ...word, value: path, prefix: path! }]))
    else if (key === "of") result.files.push(...edits([{ ...word, value: path, prefix: path! }]))
    else if (word.value === undefined) result.files.push(...edits([{ ...word, prefix: "", splits: true }]))
  }
  return result
}
