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
import type { TextSpan } from "./text-span.ts"

/** Values that are a secret because of the name that they are given: lines of `.env` files, headers, fields, options. */
export function namedSpans(text: string): TextSpan[] {
  return [
    ...variables(text),
    ...settings(text),
    ...fields(text),
    ...headers(text),
    ...queries(text),
    ...cookies(text),
    ...pairs(text),
    ...commands(text),
  ]
}

/** The values behind a pattern for which it is true. */
function valuesAfter(
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

/** Of a value without quotes, what stands before a sign that few secrets have: the rest may not belong to it. */
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

/** `NAME_KEY=...` as shells and `.env` files have it. */
function variables(text: string): TextSpan[] {
  return valuesAfter(variable, text, (value, [, name, kind, suffix, sign]) => {
    const isWeak = suffix !== "" || isWeakName(name!, kind!)
    if (sign !== "=" && isDotted(value)) return false
    if (isWeak) return isRandom(value.text) && !isNoSecret(name!, value.text)
    return isGiven(value, { isAssigned: sign === "=" }) || isLoneWord(text, value)
  })
}

const setting =
  /(?:(?<![\w-])|(?<=\\[nrt]))(?:ENV|ARG|setenv|[Ss][Ee][Tt][Xx](?:[ \t]{1,4}\/[Mm])?|set(?:[ \t]{1,4}--?[A-Za-z][A-Za-z-]{0,11}){1,4})[ \t]{1,8}["']?([A-Z0-9_]{0,64}(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|COOKIE|DSN))((?:_[A-Z0-9]{1,16})?)["']?[ \t]{1,8}(?![ \t=:＝：(])/g

/** `ENV NAME_KEY ...` of Dockerfiles, `set -x` of fish, `setx` of Windows: no sign stands between, as in a sentence. */
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

/** Whether it ends its line, its command or its code span, rather than being followed by the rest of a sentence. */
function isLast(text: string, { end }: TextSpan): boolean {
  return /^(?:[ \t]{1,4}\/[Mm])?\.?[ \t]{0,8}(?:$|[\r\n"'`;#]|\\[rn]|&&|\|\|)/.test(text.slice(end, end + 24))
}

/** Words, where nothing but a prompt or the number of the line stands before the command. */
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

/** Base64 that says so by its end. */
function isPadded(text: string): boolean {
  return /^[A-Za-z0-9+/]{6,}={1,2}$/.test(text)
}

/** Letters that are all that stands behind a name: configuration, rather than a sentence or code. */
function isLoneWord(text: string, { text: word, isQuoted, end }: Value): boolean {
  return !isQuoted && isLetters(word, 8) && /^[ \t]{0,8}(?:$|[\r\n]|\\[rn])/.test(text.slice(end, end + 10))
}

const field = new RegExp(
  String.raw`(key|token|secret|passw(?:or)?d|passphrase|pwd|credential|(?<=[_.-])pass|(?<![A-Za-z])pass(?=${nameEnd}[ \t]{0,40}[:=][ \t]{0,40}${quoteMark})|密码|口令|密钥|令牌)s?${nameEnd}${blank}{0,40}(?:=>|:=|={1,3}|[:：＝])${blank}{0,40}`,
  "gi",
)
const noSecretKey =
  /(?:public|primary|foreign|sort|partition|cache|idempotency|i18n|translation|object|group|unique|hash)[_-]?key$/i
const strongField =
  /(?:api|access|secret|private|auth|client|encryption|signing|master|bearer|refresh|session)[_-]?(?:key|token|secret)$|(?:password|passwd|passphrase|secret|token)$/i
/** Behind these, letters alone are a secret too. */
const strongestField =
  /(?:api|access|secret|private|auth|client|encryption|signing|master|refresh)[_-]?(?:key|token|secret)$/i

/** A key that is no secret by its name, and no random one by its looks. */
function isNoSecret(name: string, value: string): boolean {
  return /(?:MON|TUR|DON|HOC|WHIS|JOC|HOT)KEY$/i.test(name) || (noSecretKey.test(name) && isNumbered(value))
}

/** `"apiKey": "..."`, `password = '...'` and the like, where the value looks like one. */
function fields(text: string): TextSpan[] {
  return valuesAfter(field, text, (value, match) => {
    const kind = match[1]!
    const name = text.slice(Math.max(0, match.index - 24), match.index + kind.length)
    if (/\s/.test(value.text) || noSecretKey.test(name)) return false
    // Compared with a variable.
    if (!value.isQuoted && match[0].includes("==")) return false
    const isPassword = /^(?:pass|pwd|密码|口令)/i.test(kind)
    if (isPassword && isLoneWord(text, value)) return true
    return isFieldSecret(value, {
      isPassword,
      isStrong: strongField.test(name),
      isStrongest: strongestField.test(name),
    })
  })
}

interface FieldName {
  isPassword: boolean
  isStrong: boolean
  isStrongest: boolean
}

function isFieldSecret(value: Value, { isPassword, isStrong, isStrongest }: FieldName): boolean {
  const { text, isQuoted } = value
  if (isPassword) return isQuoted ? isQuotedPassword(text) : isBarePassword(value)
  if (!isStrong && isIdentity(text)) return false
  if (isStrongest && isLetters(text, isQuoted ? 10 : 16)) return true
  if (!isMixed(text) || !/^[\w+/=.~!@#$%^&*:-]+$/.test(text)) return false
  if (isQuoted) return text.length >= (isStrong ? 8 : 16)
  if (isDotted(value)) return false
  if (text.length < 20 || !/^[\w+/=.~-]+$/.test(text)) return false
  return text.replace(/\D/g, "").length >= 3 || (isStrongest && isTangled(text))
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

/** Letters of both kinds and more, which is neither a name in code nor a path. */
function isTangled(text: string): boolean {
  return /[a-z]/.test(text) && /[A-Z]/.test(text) && !/^[A-Za-z_]\w*\d?$/.test(text) && !isFile(text)
}

const sign = `${nameEnd}${blank}{0,40}[:=]${blank}{0,40}`
/** The bracket of a list. */
const listBegin = String.raw`(?:\[\s{0,8}(?=${quoteMark}))?`
/** The quote behind a scheme does not end the text that code joins the secret to. */
const unjoined = String.raw`(?!["'\u0060](?:[ \t]{1,4}[+.,)]|[,)}\]](?:\s|$)))`
/** Any word is a scheme if something long stands behind it. */
const authorization = new RegExp(
  String.raw`authorization${sign}(?:\[(?=[a-z]))?${listBegin}(?:(?:${quoteMark})?(?:(?:bearer|basic|token|digest|apikey|negotiate|key|ssws|bot|geniekey|splunk):?[ \t]{1,4}${unjoined}|([a-z][a-z-]{0,15})[ \t]{1,4}(?=[\w.~+/=-]{16})))?`,
  "gi",
)
const bearer = new RegExp(String.raw`(?<![A-Za-z])bearer:?[ \t]{1,4}${unjoined}`, "gi")
const basic = /(?<![A-Za-z])basic[ \t]{1,4}([A-Za-z0-9+/_-]{8,4096}={0,2})/gi
/** As the configs of docker and npm keep them. */
const storedLogin =
  /(?<![A-Za-z])auth\\?["']?[ \t]{0,4}[:=][ \t]{0,4}(?:\\?["'])?([A-Za-z0-9+/_-]{8,4096}={0,2})/gi
const keyHeader = new RegExp(
  `(?:x-(?:api-key|auth-token|goog-api-key|vault-token|amz-security-token|access-token|csrf-token)|private-token|(?<![A-Za-z-])api-key)${sign}${listBegin}`,
  "gi",
)
/** Also in lists of arguments, and with the value on the next line. */
const option =
  /--[a-z-]{0,24}(?:password|passwd|token|secret|api-?key|passphrase)(?:[ \t]{1,4}\\(?:\r?\n|\\{1,3}(?:r\\{1,3})?n)[ \t]{0,40}|[ \t]{1,4}|=|\\{0,15}["'][ \t]{0,4},\s{0,40}(?=\\{0,15}["']))/gi

function headers(text: string): TextSpan[] {
  const after = (pattern: RegExp, { unitsMin, lettersMin }: { unitsMin: number; lettersMin: number }) =>
    valuesAfter(pattern, text, (value, { 0: before, 1: scheme }) => {
      if (value.text.length < unitsMin || isDotted(value)) return false
      if (/^(?:realm=|https?:)/i.test(value.text)) return false
      if (scheme !== undefined) return value.text.length >= 16 && isMixed(value.text)
      if (/[\d!@#$%^&*]/.test(value.text)) return true
      // Letters alone are a secret where a sign says that a value follows.
      return /[:=]/.test(before) && isLetters(value.text, lettersMin)
    })
  const logins = [basic, storedLogin].flatMap((pattern) =>
    [...text.matchAll(pattern)].filter((match) => isLogin(match[1]!)).map(lastGroup),
  )
  return [
    ...after(authorization, { unitsMin: 8, lettersMin: 16 }),
    ...after(bearer, { unitsMin: 12, lettersMin: 16 }),
    ...after(keyHeader, { unitsMin: 8, lettersMin: 16 }),
    ...after(option, { unitsMin: 6, lettersMin: 8 }),
    ...logins,
  ]
}

/** `name:password` in base64. */
function isLogin(base64: string): boolean {
  return /^[\x20-\x39\x3b-\x7e]+:[\x20-\x7e]+$/.test(Buffer.from(base64, "base64").toString("latin1"))
}

const query =
  /[?&][A-Za-z0-9_.-]{0,24}(?:token|key|secret|sig|signature|password|passwd|credential|auth)=([^&\s#"'<>\\)]{8,2048})/gi
const strongQuery =
  /[?&](?:[A-Za-z0-9_.-]{0,24}(?:(?:access|auth|refresh)[_-]?token|api[_-]?key|secret|password|passwd))=([A-Za-z]{8,2048})(?![^&\s#"'<>\\)`,;.\]}])/gi

function queries(text: string): TextSpan[] {
  const isFilled = (match: RegExpExecArray) =>
    !isPlaceholder(match[1]!, { after: restOfLine(text, match.index + match[0].length) })
  const mixed = [...text.matchAll(query)].filter((match) => {
    const name = match[0].slice(0, match[0].indexOf("="))
    return isMixed(match[1]!) && !isNoSecret(name, match[1]!) && isFilled(match)
  })
  const letters = [...text.matchAll(strongQuery)].filter(
    (match) => isLetters(match[1]!, 8) && isFilled(match),
  )
  return [...mixed, ...letters].map(lastGroup)
}

const crumb = "([\\w!#$%&*+.^`|~-]{1,64}=[^\\n\"'\\\\]{1,4096})"
const cookie = new RegExp(
  String.raw`(?<![A-Za-z])(?:set-)?cookie${nameEnd}${blank}{0,40}:${blank}{0,40}(\[\s{0,40})?(?:${quoteMark})?${crumb}`,
  "gi",
)
const nextCookie = new RegExp(String.raw`${quoteMark}\s{0,8},\s{0,40}${quoteMark}${crumb}`, "y")
const setCookie = new RegExp(String.raw`document\.cookie[ \t]{0,4}=[ \t]{0,4}${quoteMark}${crumb}`, "g")
const cookiesMax = 50

function cookies(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  for (const match of text.matchAll(cookie)) {
    spans.push(lastUnits(match, match[2]!))
    if (match[1] !== undefined) spans.push(...moreCookies(text, match.index + match[0].length))
  }
  // In code, most cookies are none that let anybody in.
  const set = [...text.matchAll(setCookie)].filter(({ 1: given }) => {
    const value = given!.slice(given!.indexOf("=") + 1, endOfCrumb(given!))
    return value.length >= 8 && isMixed(value) && !isPlaceholder(value)
  })
  return [...spans, ...set.map(lastGroup)]
}

function endOfCrumb(given: string): number {
  const at = given.indexOf(";")
  return at < 0 ? given.length : at
}

/** The others of a list. */
function moreCookies(text: string, from: number): TextSpan[] {
  const spans: TextSpan[] = []
  nextCookie.lastIndex = from
  for (let count = 0; count < cookiesMax; count++) {
    const match = nextCookie.exec(text)
    if (!match) break
    spans.push(lastGroup(match))
  }
  return spans
}

const names = "(?:key|token|secret|passw(?:or)?d|passphrase|pwd|_pass)"
/** The cells of a table beside one another. */
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

/** A name and its value where no sign stands between: in tables, in XML, in lists of variables. */
function pairs(text: string): TextSpan[] {
  const isSecret = ([, name, value]: RegExpExecArray) =>
    !isPlaceholder(value!) && !isCall({ text: value!, isQuoted: false, after: "" }) && isPaired(name!, value!)
  return [cells, elements, namedElements, nameAndValue].flatMap((pattern) =>
    [...text.matchAll(pattern)].filter(isSecret).map((match) => lastUnits(match, match[2]!)),
  )
}

function isPaired(name: string, value: string): boolean {
  if (noSecretKey.test(name) || isFile(value)) return false
  if (/pass|pwd/i.test(name)) return (value.length >= 6 && isMixed(value)) || isLetters(value, 8)
  if (!strongField.test(name)) return isRandom(value)
  return value.length >= 8 && isMixed(value) && /^[\w+/=.~!@#$%^&*:-]+$/.test(value)
}

const login = /(?<=[ \t])(?:-[sSkLfvigGnN]{0,8}u|--user)[ \t=]{0,4}["']?[^\s:"']{1,64}:([^\s"'\\]{1,256})/g
const quotedCookies =
  /(?<=[ \t])(?:-[sSkLfvigGnN]{0,8}b|--cookie)[ \t=]{0,4}["']([\w.-]{1,64}=[^\n"'\\]{1,4096})/g
const bareCookies = /(?<=[ \t])(?:-[sSkLfvigGnN]{0,8}b|--cookie)[ \t=]{0,4}([\w.-]{1,64}=[^\s"'\\]{1,4096})/g
const mysqlPassword = /(?<=[ \t])-p["']?([^\s"'\\]{3,256})/g
const sshPassword = /(?<![\w-])sshpass[ \t]{1,4}-p[ \t]{0,4}["']?([^\s"'\\]{1,256})/g
const netrc =
  /(?<!\w)(?:machine\s{1,8}\S{1,255}|default)\s{1,8}login\s{1,8}\S{1,128}(?:\s{1,8}account\s{1,8}\S{1,128})?\s{1,8}password\s{1,8}(\S{1,256})/g

/** What commands and the file of their logins are given. */
function commands(text: string): TextSpan[] {
  const of = (pattern: RegExp, command?: RegExp) =>
    [...text.matchAll(pattern)]
      .filter(({ index, 0: { length }, 1: given }) => {
        if (isPlaceholder(given!, { after: restOfLine(text, index + length) })) return false
        if (isStandIn(given!) || /^(?:\d+(?::\d+)?|ort|rotocol)$/.test(given!)) return false
        return command === undefined || commandsBefore(text, index).some((before) => command.test(before))
      })
      .map(lastGroup)
  return [
    ...[login, quotedCookies, bareCookies].flatMap((pattern) => of(pattern, /(?<![\w-])curl(?![\w-])/)),
    ...of(mysqlPassword, /(?:(?<![\w/-])|(?<=bin\/))(?:mysql|mysqldump|mysqladmin|mariadb)(?![\w/])/),
    ...of(sshPassword),
    ...of(netrc),
  ]
}

/**
 * What stands before on the same line, and on the lines that it goes on from: as it is, and without what is in quotes, where
 * the signs between commands are none.
 */
function commandsBefore(text: string, index: number): string[] {
  const before = text.slice(Math.max(0, index - 300), index).replace(/\\\r?\n/g, " ")
  const unquoted = before.replace(/\\"[^"\n]*\\"/g, " ").replace(/"[^"\n]*"|'[^'\n]*'/g, " ")
  return [before, unquoted].map((line) => line.split(/[\n;|&]/).at(-1)!)
}

function lastUnits(match: RegExpExecArray, last: string): TextSpan {
  const end = match.index + match[0].length
  return { start: end - last.length, end }
}

/** Where the group is that ends a match. */
function lastGroup(match: RegExpExecArray): TextSpan {
  return lastUnits(match, match[1]!)
}
