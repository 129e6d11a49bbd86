import { matchEnd, type TextSpan } from "../text-span.ts"
import {
  blank,
  isCall,
  isDotted,
  isExpression,
  isFile,
  isIdentity,
  isLetters,
  isMixed,
  isNumbered,
  isPlaceholder,
  isRules,
  isStandIn,
  isWords,
  nameEnd,
  quoteMark,
  restOfLine,
  type Value,
  valueAt,
  valueStart,
  wholeValue,
} from "./named-value.ts"
import { isKeyLike, isRandomMix } from "./random-text.ts"

/** Finds values next to a secret name: variables and settings, fields of configs and code, tables and XML. */
export function assignedSpans(text: string): TextSpan[] {
  return [...variables(text), ...settings(text), ...fields(text), ...pairs(text)]
}

/** The values after each match of `pattern` for which `isSecret` is true. */
export function valuesAfter(
  pattern: RegExp,
  text: string,
  isSecret: (value: Value, match: RegExpExecArray) => boolean,
): TextSpan[] {
  const spans: TextSpan[] = []
  let done = 0
  for (const match of text.matchAll(pattern)) {
    if (match.index < done) continue
    const found = valueAt(text, valueStart(text, match.index + match[0].length))
    if (!found || isPlaceholder(found.text, found) || isCall(found)) continue
    const value = isSecret(found, match) ? found : plainBeginning(text, found)
    if (!value || (value !== found && !isSecret(value, match))) continue
    const span = wholeValue(text, value)
    spans.push(span)
    done = span.end
  }
  return spans
}

/**
 * The beginning of a value without quotes, up to a character that is rare in secrets: the rest may not belong to the
 * value.
 */
function plainBeginning(text: string, value: Value): Value | undefined {
  const at = value.isQuoted ? -1 : value.text.search(/[^\w+/=.~!@#$%^&*:-]/)
  if (at <= 0) return undefined
  const end = value.start + at
  return { ...value, text: value.text.slice(0, at), end, after: restOfLine(text, end) }
}

const strong = /(?:API|ACCESS|SECRET|PRIVATE|ENCRYPTION|MASTER|SIGNING|AUTH|LICENSE|SERVICE|ADMIN)_?KEY$/
const variable = new RegExp(
  `(?<![A-Z0-9_])([A-Z0-9_]*(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|COOKIE|DSN))((?:_[A-Z0-9]{1,16})?)${nameEnd}(${blank}{0,40}[=:＝：]${blank}{0,40})`,
  "g",
)

/** `NAME_KEY=...` as in shells and `.env` files. */
function variables(text: string): TextSpan[] {
  return valuesAfter(variable, text, (value, [, name, kind, suffix, sign]) => {
    const isWeak = suffix !== "" || isWeakName(name!, kind!)
    if (sign !== "=" && isDotted(value)) return false
    // `SECRET_KEY_BASE`: a hash behind a strong name is a secret.
    if (isWeak && strong.test(name!) && isIdentity(value.text)) return true
    if (isWeak) return isRandom(value.text) && !isNoSecret(name!, value.text)
    return isGiven(value, { isAssigned: sign === "=" }) || isLoneWord(text, value)
  })
}

const setting =
  /(?:(?<![\w-])|(?<=\\[nrt]))(?:ENV|ARG|setenv|[Ss][Ee][Tt][Xx](?:[ \t]{1,4}\/[Mm])?|set(?:[ \t]{1,4}--?[A-Za-z][A-Za-z-]{0,11}){1,4})[ \t]{1,8}["']?([A-Z0-9_]{0,64}(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|COOKIE|DSN))((?:_[A-Z0-9]{1,16})?)["']?[ \t]{1,8}(?![ \t=:＝：(])/g

/**
 * `ENV NAME_KEY ...` of Dockerfiles, `set -x` of fish, `setx` of Windows. No sign separates name and value, as in a
 * sentence.
 */
function settings(text: string): TextSpan[] {
  return valuesAfter(setting, text, (value, { index, 1: name, 2: kind, 3: suffix }) => {
    if (!value.isQuoted && !isLast(text, wholeValue(text, value))) return false
    if (suffix !== "" || isWeakName(name!, kind!)) return isRandom(value.text)
    if (!isGiven(value, { isAssigned: true })) return false
    return (
      value.isQuoted ||
      !/^[A-Za-z]+(?:[-_.][A-Za-z]+)*$/.test(value.text) ||
      isSetting(text, { value, index })
    )
  })
}

/**
 * Whether the value ends its line, its command or its code span, instead of being followed by the rest of a sentence.
 */
function isLast(text: string, { end }: TextSpan): boolean {
  return /^(?:[ \t]{1,4}\/[Mm])?\.?[ \t]{0,8}(?:$|[\r\n"'`;#]|\\[rn]|&&|\|\|)/.test(text.slice(end, end + 24))
}

/** For a value of words: whether only a prompt or a line number stands before the command. */
function isSetting(text: string, { value, index }: { value: Value; index: number }): boolean {
  const line = text
    .slice(Math.max(0, index - 40), index)
    .split(/\n|\\n/)
    .at(-1)!
  const isFirst = line.length < 40 && /^[\s\d|:+"'`-]*$/.test(line)
  return (isFirst || /[>$#%][ \t]{1,4}$/.test(line)) && !isStandIn(value.text)
}

function isWeakName(name: string, kind: string): boolean {
  return (kind === "KEY" && !strong.test(name)) || (kind === "PASS" && !/_PASS$/.test(name))
}

function isRandom(text: string): boolean {
  return text.length >= 12 && isMixed(text) && /^[\w+/=.-]+$/.test(text) && !isIdentity(text)
}

function isGiven({ text, isQuoted }: Value, { isAssigned }: { isAssigned: boolean }): boolean {
  if (text.length < 4 || /^\d{1,7}$/.test(text)) return false
  return isAssigned || isQuoted || (text.length >= 8 && (/\d/.test(text) || isPadded(text)))
}

/** Base64 that ends with padding. */
function isPadded(text: string): boolean {
  return /^[A-Za-z0-9+/]{6,}={1,2}$/.test(text)
}

/** Whether only letters follow the name on its line, as in a config file and unlike a sentence or code. */
function isLoneWord(text: string, { text: word, isQuoted, end }: Value, unitsMin = 8): boolean {
  return (
    !isQuoted && isLetters(word, unitsMin) && /^[ \t]{0,8}(?:$|[\r\n]|\\[rn])/.test(text.slice(end, end + 10))
  )
}

const field = new RegExp(
  String.raw`(key|token|secret|passw(?:or)?d|passphrase|pwd|credential|(?<=[_.-])pass|(?<![A-Za-z])pass(?=${nameEnd}[ \t]{0,40}[:=][ \t]{0,40}${quoteMark})|passwort|kennwort|contrase[nñ]a|senha|mot de passe|wachtwoord|hasło|парол[ья]|パスワード|비밀번호|密码|密碼|口令|密钥|令牌)s?${nameEnd}${blank}{0,40}(?:=>|:=|={1,3}|[:：＝])${blank}{0,40}`,
  "gi",
)
const noSecretKey =
  /(?:public|primary|foreign|sort|partition|cache|idempotency|i18n|translation|object|group|unique|hash)[_-]?key$/i
const strongField =
  /(?:api|access|secret|private|auth|client|encryption|signing|master|bearer|refresh|session|license)[_ -]?(?:key|token|secret)$|(?:password|passwd|passphrase|secret|token)$/i
/** After these names, letters alone are a secret too. */
const strongestField =
  /(?:api|access|secret|private|auth|client|encryption|signing|master|refresh)[_-]?(?:key|token|secret)$/i

/** A key that is not secret by its name, and does not look random. */
export function isNoSecret(name: string, value: string): boolean {
  return /(?:MON|TUR|DON|HOC|WHIS|JOC|HOT)KEY$/i.test(name) || (noSecretKey.test(name) && isNumbered(value))
}

/** Finds `"apiKey": "..."`, `password = '...'` and similar fields whose value looks like a secret. */
function fields(text: string): TextSpan[] {
  return valuesAfter(field, text, (value, match) => {
    const kind = match[1]!
    const name = text.slice(Math.max(0, match.index - 24), match.index + kind.length)
    if (/\s/.test(value.text) || noSecretKey.test(name)) return false
    // An unquoted value after `==` is a variable in a comparison.
    if (!value.isQuoted && match[0].includes("==")) return false
    const isPassword = !/^(?:key|token|secret|credential|密钥|令牌)/i.test(kind)
    const isShort = match[0].endsWith("=") || isBesideUser(text, match.index)
    if (isPassword && isLoneWord(text, value, isShort ? 6 : 8)) return true
    return isFieldSecret(value, {
      isPassword,
      isStrong: strongField.test(name),
      isStrongest: strongestField.test(name),
      isSet: match[0].endsWith("="),
    })
  })
}

/** Whether the name of a user stands shortly before. */
function isBesideUser(text: string, index: number): boolean {
  return /(?:user(?:[ _-]?name)?|login|account|e-?mail|用户名|账号)["']?[ \t]{0,4}[:=：]/i.test(
    text.slice(Math.max(0, index - 80), index),
  )
}

interface FieldName {
  isPassword: boolean
  isStrong: boolean
  isStrongest: boolean
  /** True if the value follows the sign `=` directly, as in config files. */
  isSet: boolean
}

function isFieldSecret(value: Value, { isPassword, isStrong, isStrongest, isSet }: FieldName): boolean {
  const { text, isQuoted } = value
  if (isPassword) return isQuoted ? isQuotedPassword(text) : isBarePassword(value)
  if (!isStrong && isIdentity(text)) return false
  if (isStrongest && isLetters(text, isQuoted ? 10 : 16)) return true
  if (!isMixed(text) || !/^[\w+/=.~!@#$%^&*:-]+$/.test(text)) return false
  if (isQuoted) return text.length >= (isStrong ? 8 : 16)
  if (isDotted(value)) return false
  const unitsMin = isSet && isStrong && isRandomMix(text) ? 12 : 20
  if (text.length < unitsMin || !/^[\w+/=.~-]+$/.test(text)) return false
  const digits = text.replace(/\D/g, "").length
  return (
    digits >= 3 ||
    (isStrongest && isTangled(text)) ||
    (isStrong && (isRandomMix(text) || ((digits === 2 || isSet) && isKeyLike(text))))
  )
}

function isQuotedPassword(text: string): boolean {
  return (
    text.length >= 6 && /^[\x20-\x7e]+$|\d/.test(text) && !isStandIn(text) && !isWords(text) && !isRules(text)
  )
}

function isBarePassword(value: Value): boolean {
  const { text } = value
  return isPadded(text) || (text.length >= 6 && isMixed(text) && !isDotted(value) && !isExpression(text))
}

/** Upper-case and lower-case letters and other characters, but neither an identifier nor a path. */
function isTangled(text: string): boolean {
  return /[a-z]/.test(text) && /[A-Z]/.test(text) && !/^[A-Za-z_]\w*\d?$/.test(text) && !isFile(text)
}

const names = "(?:key|token|secret|passw(?:or)?d|passphrase|pwd|_pass)"
/** Two neighbouring cells of a table. */
const cells = new RegExp(
  String.raw`[|│][ \t]{0,8}[\x60*]{0,3}([\w. -]{0,40}${names})[\x60*]{0,3}[ \t]{0,80}[|│][ \t]{0,8}\x60?([^\s|│\x60]{4,512})(?=\x60?[ \t]{0,80}[|│])`,
  "gi",
)
const content = String.raw`(?:\s|\\[nrt]){0,20}(?:<!\[CDATA\[)?([^<>\s]{4,512}?)(?=(?:\]\]>)?(?:\s|\\[nrt]){0,20}<\/)`
const elements = new RegExp(String.raw`<([\w:.-]{0,40}${names})(?:\s[^<>]{0,80})?>${content}`, "gi")
const namedElements = new RegExp(
  String.raw`\sname=${quoteMark}([\w:.-]{0,60}${names})${quoteMark}[^<>]{0,40}>${content}`,
  "gi",
)
const nameAndValue = new RegExp(
  String.raw`(?:name|key)\\?["']?[ \t]{0,4}[:=][ \t]{0,4}\\?["']?([\w.-]{0,48}${names})\\?["']?(?:,|\s|\\n)(?:\s|\\n){0,40}\\?["']?value\\?["']?[ \t]{0,4}[:=][ \t]{0,4}\\?["']?([^\s"'\\]{4,512})`,
  "gi",
)

/** Finds a name and its value without a sign between them: in tables, in XML, in lists of variables. */
function pairs(text: string): TextSpan[] {
  const isSecret = ([, name, value]: RegExpExecArray) =>
    !isPlaceholder(value!) && !isCall({ text: value!, isQuoted: false, after: "" }) && isPaired(name!, value!)
  return [cells, elements, namedElements, nameAndValue].flatMap((pattern) =>
    [...text.matchAll(pattern)].filter(isSecret).map((match) => matchEnd(match, match[2]!)),
  )
}

function isPaired(name: string, value: string): boolean {
  if (noSecretKey.test(name) || isFile(value)) return false
  if (/pass|pwd/i.test(name)) return (value.length >= 6 && isMixed(value)) || isLetters(value, 8)
  if (!strongField.test(name)) return isRandom(value)
  return value.length >= 8 && isMixed(value) && /^[\w+/=.~!@#$%^&*:-]+$/.test(value)
}
