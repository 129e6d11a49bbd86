import { matchEnd, type TextSpan } from "../text-span.ts"
import { isNoSecret, valuesAfter } from "./assigned-secrets.ts"
import {
  blank,
  isDotted,
  isLetters,
  isMixed,
  isPlaceholder,
  isStandIn,
  nameEnd,
  quoteMark,
  restOfLine,
} from "./named-value.ts"

/** Finds secrets in requests and command lines: headers and options, URLs, cookies, arguments of commands. */
export function requestSpans(text: string): TextSpan[] {
  return [...headers(text), ...queries(text), ...cookies(text), ...commands(text)]
}

const sign = `${nameEnd}${blank}{0,40}[:=]${blank}{0,40}`
/** The bracket of a list. */
const listBegin = String.raw`(?:\[\s{0,8}(?=${quoteMark}))?`
/** Excludes a scheme whose closing quote follows, because code then appends the secret to it. */
const unjoined = String.raw`(?!["'\u0060](?:[ \t]{1,4}[+.,)]|[,)}\]](?:\s|$)))`
/** Any word counts as a scheme if a long value follows. */
const authorization = new RegExp(
  String.raw`authorization${sign}(?:\[(?=[a-z]))?${listBegin}(?:(?:${quoteMark})?(?:(?:bearer|basic|token|digest|apikey|negotiate|key|ssws|bot|geniekey|splunk):?[ \t]{1,4}${unjoined}|([a-z][a-z-]{0,15})[ \t]{1,4}(?=[\w.~+/=-]{16})))?`,
  "gi",
)
const bearer = new RegExp(String.raw`(?<![A-Za-z])bearer:?[ \t]{1,4}${unjoined}`, "gi")
const basic = /(?<![A-Za-z])basic[ \t]{1,4}([A-Za-z0-9+/_-]{8,4096}={0,2})/gi
/** Logins in the config files of docker and npm. */
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
      // Letters alone are a secret only after `:` or `=`.
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

/** True for `name:password` in base64. */
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
    spans.push(matchEnd(match, match[2]!))
    if (match[1] !== undefined) spans.push(...moreCookies(text, match.index + match[0].length))
  }
  // In code, most cookies are not logins, so the value must look random.
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

/** The other cookies of a list. */
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

const login = /(?<=[ \t])(?:-[sSkLfvigGnN]{0,8}u|--user)[ \t=]{0,4}["']?[^\s:"']{1,64}:([^\s"'\\]{1,256})/g
const quotedCookies =
  /(?<=[ \t])(?:-[sSkLfvigGnN]{0,8}b|--cookie)[ \t=]{0,4}["']([\w.-]{1,64}=[^\n"'\\]{1,4096})/g
const bareCookies = /(?<=[ \t])(?:-[sSkLfvigGnN]{0,8}b|--cookie)[ \t=]{0,4}([\w.-]{1,64}=[^\s"'\\]{1,4096})/g
const netrc =
  /(?<!\w)(?:machine\s{1,8}\S{1,255}|default)\s{1,8}login\s{1,8}\S{1,128}(?:\s{1,8}account\s{1,8}\S{1,128})?\s{1,8}password\s{1,8}(\S{1,256})/g

/** Finds secrets in the arguments of commands, and in netrc files. */
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
    ...of(netrc),
  ]
}

/**
 * The text before on the same line, including lines that continue with a backslash. Returned as it is, and without
 * quoted texts, because `;`, `|` and `&` inside quotes do not separate commands.
 */
function commandsBefore(text: string, index: number): string[] {
  const before = text.slice(Math.max(0, index - 300), index).replace(/\\\r?\n/g, " ")
  const unquoted = before.replace(/\\"[^"\n]*\\"/g, " ").replace(/"[^"\n]*"|'[^'\n]*'/g, " ")
  return [before, unquoted].map((line) => line.split(/[\n;|&]/).at(-1)!)
}

/** The span of the group that ends a match. */
function lastGroup(match: RegExpExecArray): TextSpan {
  return matchEnd(match, match[1]!)
}
