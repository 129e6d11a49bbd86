import type { TextSpan } from "../../text-span.ts"
import { isDotted, isFile, isIdentity, isMixed, isStandIn } from "../named-value.ts"
import { isKeyLike } from "../random-text.ts"
import { chineseSpans } from "./chinese-secrets.ts"
import { isGivenPassword } from "./given-password.ts"

/** Finds secrets that a sentence of English or Chinese announces. */
export function proseSecretSpans(text: string): TextSpan[] {
  return [
    ...english(text),
    ...valuesFirst(text),
    ...loginPairs(text),
    ...phrases(text),
    ...codes(text),
    ...chineseSpans(text),
  ]
}

const emphasis = String.raw`[*_\x60"'“”‘’]{0,4}`
const noun = String.raw`(pass[ -]?words?|passwd|pass[ -]?phrases?|pass[ -]?codes?|pwd|p\/?w|pass|(?:(?:api|access|secret|private|auth|client|license|product|signing|encryption|deploy|bearer|refresh|session)[ -]?){0,2}(?:keys?|tokens?|secrets?)|credentials?)`
/** What a password belongs to: `for the staging server`, `(staging)`, `of jane`. */
const owner = String.raw`(?:[ \t]{1,3}\([^()\n]{1,40}\)|[ \t]{1,3}(?:for|of|to|on|at|in|you|we|i|they|that|which)[ \t]{1,3}[^\n:=,;!?]{1,48}?)`
const change = String.raw`(?:set|changed|reset|updated)[ \t]{1,3}to`
const verb = String.raw`(?:[ \t]{1,3}(?:is|was|are|be|reads|became|becomes|remains|stays|equals)(?![a-z])(?:[ \t]{1,3}(?:now|still|currently|just|simply|again|${change})(?![a-z]))?|[ \t]{1,3}(?:will|would|should|must|can|could|has|have|had|shall)[ \t]{1,3}(?:now[ \t]{1,3})?(?:been|be)(?![a-z])(?:[ \t]{1,3}${change})?|['’]s|[ \t]{1,3}(?:${change}|to)(?![a-z]))`
const sign = String.raw`[ \t]{0,4}(?:[:=：＝]|->|→|=>|—|–|-(?=[ \t]))`
const announced = new RegExp(
  String.raw`(?<![A-Za-z_./-])${noun}${emphasis}(?:(${owner})${emphasis}(?:(${verb})(?:[ \t]{0,2}:)?|(${sign}))|(${verb})(?:[ \t]{0,2}:)?|(${sign})|(?=[ \t]))[ \t]{0,4}(?=\S)`,
  "giu",
)
/** These names and signs are also those of config and code, which `assigned-secrets.ts` judges. */
const assigned =
  /^(?:passwords?|passwd|pass ?phrases?|pass ?codes?|pwd|.*(?:keys?|tokens?|secrets?)|credentials?)$/i

/** A word before the noun, as in a sentence: `the password: ...`. */
const article =
  /\b(?:the|my|our|your|his|her|their|this|new|old|current|temporary|temp|initial|admin|root|wi-?fi|database|db|server|login|guest|master)[ \t]{1,3}$/i

/** Words that follow a verb in sentences about passwords. */
const plainWord =
  /^(?:a|an|the|not|no|in|on|at|of|to|for|by|as|it|its|one|all|any|both|too|very|so|also|only|just|never|always|now|still|then|there|here|this|that|what|when|where|how|if|and|or|but|with|without|from|into|out|up|off|over|under|about|after|before|again|already|yet|more|less|long|longer|short|shorter|strong|stronger|weak|weaker|wrong|right|correct|safe|secure|unsafe|insecure|valid|invalid|empty|blank|missing|present|absent|unique|random|secret|private|public|plain|plaintext|cleartext|opaque|same|different|equal|new|old|fine|good|bad|ok|okay|okey|true|false|null|none|nil|undefined|required|optional|mandatory|necessary|needed|available|unavailable|unknown|known|visible|hidden|readable|writable|temporary|permanent|default|first|last|next|case|sensitive|something|anything|nothing|everything|someone|whatever|sent|kept|set|read|lost|built|made|given|shown|known|written|chosen|taken|found|put|let|hash|salt|string|text|number|value|name|field|input|type|header|cookie|bearer|manager|reset|policy|prompt|change|rotation|strength|length|expiry|login|auth|protected|based|only|free|less|unlock|access|admin|user|root|you|your|yours|we|our|us|they|them|their|he|she|his|her|him|my|mine|me|i|is|are|was|were|be|been|being|has|have|had|will|would|can|could|should|must|may|might|do|does|did)$/i
const suffix = /(?:ed|ing|ly|able|ible|tion|sion|ness|ment|ful|less|ous|ive|ical|ally|ities|ity|ism|ist)$/i

/** What stands before `password ...` if the password itself follows. */
const used =
  /(?:\b(?:with|use|using|try|enter|type|give)[ \t]{1,3}(?:(?:the|this|my|your)[ \t]{1,3})?|\b(?:user(?:[ -]?name)?|login|account)[ \t:=]{1,3}["'\x60]?[\w.@+-]{2,40}["'\x60]?,?[ \t]{1,3}(?:(?:and|with)[ \t]{1,3})?(?:the[ \t]{1,3})?)$/i

interface Judged {
  text: string
  isQuoted: boolean
  isPassword: boolean
  /** How certain it is that a value follows: a sign, a verb, or nothing. */
  link: "sign" | "verb" | "used" | "none"
  after: string
}

function english(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  for (const match of text.matchAll(announced)) {
    const from = match.index + match[0].length
    const value = wordAt(text, from)
    if (!value) continue
    const [, name, of, verbOfOwner, signOfOwner, verb, sign] = match
    const given = verbOfOwner ?? verb
    const link = (signOfOwner ?? sign) !== undefined ? "sign" : given !== undefined ? "verb" : "none"
    const before = text.slice(Math.max(0, match.index - 60), match.index)
    const isAssigned =
      of === undefined && sign !== undefined && /[:=：＝]$/.test(sign) && assigned.test(name!)
    if (isAssigned && !article.test(before)) continue
    // `pass` is also a verb.
    if (/^pass$/i.test(name!) && (link === "none" || /to$/.test(given ?? ""))) continue
    const isPassword = /^p/i.test(name!) && !/^p(?:rivate|roduct)/i.test(name!)
    const after = text.slice(value.end, value.end + 40)
    const isUsed = link === "none" && used.test(before)
    if (isAnnounced({ ...value, isPassword, link: isUsed ? "used" : link, after }))
      spans.push({ start: value.start, end: value.end })
  }
  return spans
}

interface Word extends TextSpan {
  text: string
  isQuoted: boolean
}

const opening = /(?:\*{1,3}|_{1,2}(?=\S))?(\\{0,3}["'\x60]|[“‘「『«])?/y
const closingOf: Record<string, string> = { "“": "”", "‘": "’", "「": "」", "『": "』", "«": "»" }

/** The word that begins there: up to its closing quote, or up to a space and without the punctuation of the sentence. */
export function wordAt(text: string, from: number): Word | undefined {
  opening.lastIndex = from
  const found = opening.exec(text)!
  const start = from + found[0].length
  const near = text.slice(start, start + 200)
  const quote = found[1]
  if (quote !== undefined) {
    const end = near.indexOf(closingOf[quote] ?? quote)
    const inside = near.slice(0, Math.max(0, end))
    return end > 0 && !inside.includes("\n")
      ? { text: inside, isQuoted: true, start, end: start + end }
      : undefined
  }
  const bare =
    /^[!-~€£]+/
      .exec(near)?.[0]
      .replace(/\\[nrt].*$/, "")
      .replace(/["'\x60*_]*[)\]},.;:?"'\x60*>]*$/, "") ?? ""
  return bare === "" ? undefined : { text: bare, isQuoted: false, start, end: start + bare.length }
}

function isAnnounced({ text, isQuoted, isPassword, link, after }: Judged): boolean {
  if (!isGivenPassword(text, { quote: isQuoted ? "'" : "", after }) || text.length < 4) return false
  if (/\s/.test(text))
    return isQuoted && isPassword && link !== "none" && (isPhrase(text) || isWordWithNumber(text))
  if (
    /^[-/~.]|^https?:|^\w+\(|[({[]$|[<>|]/.test(text) ||
    isFile(text) ||
    isDotted({ text, isQuoted: false })
  )
    return false
  if (/^(?:v?\d+(?:\.\d+)*|\d+[a-z%]{1,3}|[A-Z]{2,6}-?\d{1,5}|\d{1,5}|\d+[-/:]\d+\S*)$/.test(text))
    return false
  if (/^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(text) || isStandIn(text)) return false
  if (/^[\w.+-]+@[\w-]+\.[\w.]+$/.test(text)) return false
  if (!isPassword) return isKey(text)
  const isTelling =
    isMixed(text) || (/[^\w.-]/.test(text.slice(0, -1)) && !/^[A-Za-z]+(?:['’/][A-Za-z]+)+$/.test(text))
  if (link === "none") return text.length >= 6 && /\d/.test(text) && isTelling
  return isTelling || /^\d{6,}$/.test(text) || isLonelyWord(text, { isQuoted, after })
}

function isKey(text: string): boolean {
  return (
    text.length >= 12 && isMixed(text) && /^[\w+/=.~-]+$/.test(text) && (isKeyLike(text) || isIdentity(text))
  )
}

/** A word that ends the sentence and that sentences about passwords do not use. */
function isLonelyWord(text: string, { isQuoted, after }: { isQuoted: boolean; after: string }): boolean {
  if (!/^[A-Za-z][A-Za-z-]{4,}$/.test(text) || plainWord.test(text)) return false
  if (isQuoted) return true
  if (suffix.test(text) || /^[a-z]+(?:-[a-z]+)+$/.test(text)) return false
  return /^[*_"'\x60”’]{0,3}(?:$|[.,;!?)\r\n]|\\[nr]|[ \t]{1,4}(?:for|and|on|in|to|at|as|now|today|yesterday|again|instead|since|until|because|last|this|but|so)\b)/.test(
    after,
  )
}

/** Two words, one of them with letters and digits. */
function isWordWithNumber(text: string): boolean {
  const words = text.split(" ")
  return words.length === 2 && words.some((word) => word.length >= 4 && isMixed(word))
}

/** Two to eight words, as people choose for a passphrase. */
function isPhrase(text: string): boolean {
  const words = text.split(/[ -]/)
  const plain = words.filter((word) => plainWord.test(word) || suffix.test(word)).length
  if (words.length < 12 && plain > words.length / 4) return false
  return (
    words.length >= 3 &&
    words.length <= 24 &&
    words.every((word) => /^[A-Za-z0-9!?.]{2,16}$/.test(word)) &&
    !words.some((word) => /^(?:is|are|the|must|has|be|your|not|please|enter)$/i.test(word))
  )
}

const valueFirst =
  /(?<=^|[\s"'\x60“(])([!-~]{4,140}?)["'\x60”]?[ \t]{1,3}(?:is|was|as|will be)[ \t]{1,3}(?:(?:the|my|our|your|his|her|their|its|a)[ \t]{1,3})?(?:[a-z]{2,12}[ \t]{1,3}){0,2}(?:password|passphrase|passcode|(?:api|private|secret|access) key|access token)(?![\w-])/gi

/** `... is the password`. */
function valuesFirst(text: string): TextSpan[] {
  if (!/pass|key|token/i.test(text)) return []
  return [...text.matchAll(valueFirst)].flatMap(({ index, 1: found }) => {
    const lead = /^["'\x60“(*]*/.exec(found!)![0].length
    const value = found!.slice(lead)
    const isWord =
      /^[a-z]{6,}$/.test(value) && !plainWord.test(value) && !suffix.test(value) && !isStandIn(value)
    const isSigned = value.length >= 6 && /^\w+[#@!$%^&*+?~]\w+$/.test(value)
    const isValue = isMixed(value)
      ? value.length >= 6 && !isFile(value) && !/^[\w.]+\($/.test(value)
      : isWord || isSigned
    if (!isValue || !isGivenPassword(value)) return []
    return [{ start: index + lead, end: index + found!.length }]
  })
}

const loginPair =
  /(?<![A-Za-z_./-])(?:log ?in|log[- ]?ins|sign ?in|credentials?|creds|账号\/密码|用户名\/密码|账户\/密码)(?:[ \t]{1,3}(?:are|is|with|as|using))?[ \t]{0,3}[:：]?[ \t]{0,3}[\x60"']?([\w.@+-]{2,48})[\x60"']?(?:[ \t]{0,3}[/:|][ \t]{0,3}|[ \t]{1,3}(?:and|with)[ \t]{1,3}(?=\S{0,40}\d))[\x60"']?([!-~]{4,80}?)(?=[\x60"']?(?:[,;。，]|\.?(?:\s|$|\\n)))/gi

/** `login: admin / ...`. */
function loginPairs(text: string): TextSpan[] {
  return [...text.matchAll(loginPair)]
    .filter(({ 1: name, 2: value }) => {
      if (
        !isGivenPassword(value!) ||
        isStandIn(value!) ||
        isFile(value!) ||
        /^\/|^\d{1,5}$|^https?$/.test(value!)
      )
        return false
      if (/^(?:see|https?|docs?|src|and|or)$/i.test(name!)) return false
      return (
        isMixed(value!) ||
        /[^\w./-]/.test(value!) ||
        (/^[a-z]{6,}$/i.test(value!) && !plainWord.test(value!) && !suffix.test(value!))
      )
    })
    .map(({ index, 0: all, 2: value }) => ({
      start: index + all.length - value!.length,
      end: index + all.length,
    }))
}

const phrase =
  /(?:pass ?phrase|seed phrase|recovery phrase|seed words|mnemonic(?: phrase)?|助记词)[*_\x60"']{0,3}[ \t]{0,3}(?:[:：=]|is|was|是|为)[ \t]{0,3}["'\x60“]?((?:[a-z]{2,12}[ -]){2,23}[a-z]{2,12})(?=["'\x60”]?[.。]?[ \t]{0,4}(?:$|[\r\n]|\\[rn]))/gim

function phrases(text: string): TextSpan[] {
  return [...text.matchAll(phrase)]
    .filter(({ 1: words }) => isPhrase(words!))
    .map(({ index, 0: all, 1: words }) => ({
      start: index + all.length - words!.length,
      end: index + all.length,
    }))
}

const code =
  /(?<![A-Za-z_])(?:PIN(?:[ -]?(?:code|number))?|[Pp]in(?=[ \t]{0,3}(?:[:=]|is|was))|(?:verification|security|access|confirmation|one-time|2FA|MFA|login|auth(?:entication)?|backup|recovery)[ -]codes?|OTP|TOTP|验证码|动态码|提取码|PIN码)[*_\x60"']{0,3}[ \t]{0,3}(?:[:：=]|is|was|are|是|为)?[ \t]{0,3}["'\x60“]?((?:\d{3}[ -]?\d{3,5}|\d{4,10}|[A-Za-z0-9]{4}(?:-[A-Za-z0-9]{4}){1,7}))(?!\w|\.\d)/g

/** PINs and codes of a few digits. */
function codes(text: string): TextSpan[] {
  return [...text.matchAll(code)]
    .filter(({ 1: digits }) => /\d/.test(digits!))
    .map(({ index, 0: all, 1: digits }) => ({
      start: index + all.length - digits!.length,
      end: index + all.length,
    }))
}
