import { matchEnd, type TextSpan } from "../../text-span.ts"
import { isStandIn } from "../named-value.ts"
import { type CommandWord, commandAt } from "./command-words.ts"
import { type GivenValue, givenValueAt, isGivenPassword } from "./given-password.ts"
import { type Option, optionsOf } from "./programs.ts"

/** Finds passwords in the options and arguments of commands. */
export function commandPasswordSpans(text: string): TextSpan[] {
  return [...programSpans(text), ...namedOptions(text), ...pipedPasswords(text)]
}

const programWord = /(?<![\w-])[A-Za-z0-9][\w.-]{0,30}(?=[ \t])/g

function programSpans(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  let done = 0
  for (const { index, 0: name } of text.matchAll(programWord)) {
    if (index < done || !optionsOf.has(name.replace(/\.exe$/, ""))) continue
    const { words, end } = commandAt(text, index)
    done = end
    spans.push(...passwordsOf(text, words))
  }
  return spans
}

function passwordsOf(text: string, words: readonly CommandWord[]): TextSpan[] {
  const given: (GivenValue | undefined)[] = []
  const active: string[] = []
  for (const [at, { text: word, start }] of words.entries()) {
    const name = nameOf(word)
    if (optionsOf.has(name)) {
      if (!active.includes(name)) active.push(name)
      given.push(...positional(text, { name, words: words.slice(at + 1) }))
    }
    for (const option of active.flatMap((program) => optionsOf.get(program)!)) {
      if (option.needs !== undefined && !words.some((other) => other.text === option.needs)) continue
      given.push(optionValue(text, { option, word, start, next: words[at + 1] }))
    }
  }
  return given
    .filter((value) => value !== undefined)
    .filter((value) => isCommandPassword(text, value, active))
}

function nameOf(word: string): string {
  return word.replace(/^.*[/\\]/, "").replace(/\.exe$/, "")
}

function optionValue(
  text: string,
  {
    option,
    word,
    start,
    next,
  }: { option: Option; word: string; start: number; next: CommandWord | undefined },
): GivenValue | undefined {
  const { name, kind } = option
  // The option and its value may be in quotes together: "/p:word".
  const quote = /^\\{0,3}["'](?=[-/])/.exec(word)?.[0] ?? ""
  const quoted = quote.length
  const bare = word.slice(quoted)
  if (bare === name || (kind !== "word" && bare === `${name}=`)) {
    if (kind === "rest" || !next || bare.endsWith("=")) return undefined
    return afterSign(givenValueAt(text, next.start), kind)
  }
  if (!bare.startsWith(name)) return undefined
  const from = start + quoted + name.length
  if (kind === "rest") return quoted > 0 ? quotedRest(text, from, quote) : givenValueAt(text, from)
  if (kind === "both" && name.length === 2) return givenValueAt(text, from)
  if (text[from] === "=") return afterSign(givenValueAt(text, from + 1), kind)
  return kind === ":" && name.length === 2 ? afterSign(givenValueAt(text, from), kind) : undefined
}

function quotedRest(text: string, from: number, quote: string): GivenValue | undefined {
  const near = text.slice(from, from + 256)
  const end = near.indexOf(quote)
  return end <= 0 ? undefined : { text: near.slice(0, end), quote, start: from, end: from + end }
}

/** The part of a value behind the sign that ends the name: `name:password`, `pass:password`. */
function afterSign(value: GivenValue | undefined, kind: Option["kind"]): GivenValue | undefined {
  if (!value || kind === "word" || kind === "both" || kind === "rest") return value
  if (kind === "pass" && !value.text.startsWith("pass:")) return undefined
  const sign = kind === "pass" ? ":" : kind
  const at = value.text.indexOf(sign)
  if (at < 0) return undefined
  const from = value.start + at + 1
  const rest = value.text.slice(at + 1)
  return rest === "" ? undefined : { text: rest, quote: value.quote, start: from, end: value.end }
}

/** Commands of a program that are followed by a name and a password. */
const nameAndPassword = ["add_user", "change_password", "authenticate_user", "auth"]

/** Passwords that are recognised by their position among the words that are no options. */
function positional(
  text: string,
  { name, words }: { name: string; words: readonly CommandWord[] },
): (GivenValue | undefined)[] {
  const plain = words.filter((word) => !/^["']?-/.test(word.text))
  const given = (word: CommandWord | undefined) => (word ? givenValueAt(text, word.start) : undefined)
  switch (name) {
    case "htpasswd":
    case "mosquitto_passwd":
      if (!words.some((word) => /^-[A-Za-z]*b/.test(word.text))) return []
      return [given(plain.at(words.some((word) => /^-[A-Za-z]*n/.test(word.text)) ? 1 : 2))]
    case "sqlplus":
    case "exp":
    case "imp":
    case "expdp":
    case "impdp":
    case "sqlldr":
    case "rman":
      return [
        oracleLogin(
          text,
          plain.find((word) => /^["']?[\w$#]+\//.test(word.text)),
        ),
      ]
    case "rabbitmqctl":
    case "cf": {
      const at = plain.findIndex((word) => nameAndPassword.includes(word.text))
      return at < 0 ? [] : [given(plain[at + 2])]
    }
    case "net":
      return plain[0]?.text === "user" || plain[0]?.text === "use"
        ? plain
            .slice(2)
            .filter((word) => !/^["']?(?:[/\\*]|[A-Za-z]:)/.test(word.text))
            .slice(0, 1)
            .map(given)
        : []
    case "vault":
      return plain[0]?.text === "login" && plain[1] && !plain[1].text.includes("=") ? [given(plain[1])] : []
    case "openssl":
      return plain[0]?.text === "passwd" ? [given(plain.at(-1) === plain[0] ? undefined : plain.at(-1))] : []
    case "wpa_passphrase":
      return [given(plain[1])]
    case "smbclient":
      return /^["']?(?:\/\/|\\\\)/.test(plain[0]?.text ?? "") && words[1] === plain[1]
        ? [given(plain[1])]
        : []
    default:
      return []
  }
}

function oracleLogin(text: string, word: CommandWord | undefined): GivenValue | undefined {
  if (!word) return undefined
  const match = /^(["']?[\w$#]+\/["']?)([^@\s"']{1,128})/.exec(word.text)
  if (!match) return undefined
  const start = word.start + match[1]!.length
  return { text: match[2]!, quote: "", start, end: Math.min(start + match[2]!.length, text.length) }
}

function isCommandPassword(
  text: string,
  { text: value, quote, start, end }: GivenValue,
  active: readonly string[],
): boolean {
  const after = text.slice(end, end + 80).split("\n")[0]!
  if (!isGivenPassword(value, { quote, after })) return false
  if (quote === "" && /^-{1,2}[A-Za-z]/.test(value) && text[start - 1] === " ") return false
  // `docker run --name mysql -p3306:3306` opens a port, and `mysql -port` is an option of two letters and more.
  if (/^\d+(?::\d+)?$/.test(value) && active.some((name) => /^(?:docker|podman|nerdctl)$/.test(name)))
    return false
  return !/^(?:\d{1,5}|\d+:\d+|ort|rotocol)$/.test(value) || quote !== "" || text[start - 1] === " "
}

const optionName = String.raw`(?:-{1,2}|\/|-D[\w.]{0,80}?)(?:[A-Za-z]{1,16}[-_]){0,3}(?:(?:src|dest|store|key|trust|user|old|new|http|ftp|proxy)-?)*(?:pass(?:w(?:or)?d|phrase|code)?|pwd|pw)`
const namedOption = new RegExp(String.raw`(?<=^|[\s"'(\[,\x60])${optionName}(?:[ \t]{1,4}|=|:)(?=\S)`, "gi")

/** `-storepass ...` and other options that say what they are, of any program. */
function namedOptions(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  for (const match of text.matchAll(namedOption)) {
    if (/(?:^|[-_/])(?:no|ask|prompt|stdin|become|by|com)[-_]?(?:ask[-_])?pass/i.test(match[0])) continue
    const from = match.index + match[0].length
    const value = givenValueAt(text, from)
    if (
      !value ||
      value.text.length < 3 ||
      /^-{1,2}[A-Za-z]|^\d{1,3}$|^[($[]|^(?:env|file|fd|pass|stdin):/.test(value.text)
    )
      continue
    const after = text.slice(value.end, value.end + 80).split("\n")[0]!
    const isLast = /^["'\x60]?(?:$|[ \t]{0,4}(?:$|\\|[;|&#\x60"'\r]|-{1,2}[A-Za-z]|\/[A-Za-z]+[: ]))/.test(
      after,
    )
    const isWordAllowed =
      value.quote !== "" ||
      /[=:]$/.test(match[0]) ||
      (isLast && value.text.length >= 6 && !isStandIn(value.text))
    if (isGivenPassword(value.text, { quote: value.quote, after, isWordAllowed })) spans.push(value)
  }
  return spans
}

const quoted = String.raw`\\{0,3}["']?([^\s"'|\\$]{1,128})\\{0,3}["']?`
const reader = String.raw`(?:sudo[ \t]+(?:-[A-Za-z]+[ \t]+)*)?(?:chpasswd|passwd\b[^|;\n]{0,40}--stdin|sudo[ \t][^|;\n]{0,40}-S|kinit|cryptsetup|su[ \t]|[^|;\n]{0,120}--password-stdin|[^|;\n]{0,80}--passphrase-fd|[^|;\n]{0,80}-pass(?:in)?[ \t]+stdin)`
const piped = new RegExp(
  String.raw`(?<![\w-])(?:echo|printf)[ \t]{1,4}(?:-[neE]{1,3}[ \t]{1,4})?(?:["']%s(?:\\{1,2}n)?["'][ \t]{1,4})?(?:\\{0,3}["']?[\w.-]{1,64}:(?=[^|\n]{1,160}\|[ \t]{0,4}(?:sudo[ \t]+)?chpasswd))?${quoted}(?=[ \t]{0,4}\|[ \t]{0,4}${reader})`,
  "g",
)

/** `echo ... | sudo -S`. */
function pipedPasswords(text: string): TextSpan[] {
  if (!text.includes("|")) return []
  return [...text.matchAll(piped)]
    .filter(({ 1: value }) => isGivenPassword(value!))
    .map((match) => {
      const tail = /\\{0,3}["']?$/.exec(match[0])![0]
      const { start, end } = matchEnd(match, match[1]! + tail)
      return { start, end: end - tail.length }
    })
}
