import type { Span } from "./mark.ts"
import {
  isCall,
  isDotted,
  isIdentity,
  isMixed,
  isPlaceholder,
  type Value,
  valueAt,
  wholeValue,
} from "./named-value.ts"

/** Values that are a secret because of the name that they are given: lines of `.env` files, headers, fields, options. */
export function namedSpans(text: string): Span[] {
  return [...variables(text), ...fields(text), ...headers(text), ...queries(text), ...cookies(text)]
}

/** The values behind a pattern for which it is true. */
function valuesAfter(
  pattern: RegExp,
  text: string,
  isSecret: (value: Value, match: RegExpExecArray) => boolean,
): Span[] {
  const spans: Span[] = []
  let done = 0
  for (const match of text.matchAll(pattern)) {
    if (match.index < done) continue
    const value = valueAt(text, match.index + match[0].length)
    if (!value || !isSecret(value, match) || isPlaceholder(value.text) || isCall(value)) continue
    const span = wholeValue(text, value)
    spans.push(span)
    done = span.end
  }
  return spans
}

const strong = /(?:API|ACCESS|SECRET|PRIVATE|ENCRYPTION|MASTER|SIGNING|AUTH|LICENSE|SERVICE|ADMIN)_?KEY$/
const variable =
  /(?<![A-Z0-9_])([A-Z0-9_]*(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|COOKIE|DSN))((?:_[A-Z0-9]{1,16})?)\\?["']?([ \t]{0,8}(?:=|:)[ \t]{0,8})/g

/** `NAME_KEY=...` as shells and `.env` files have it. */
function variables(text: string): Span[] {
  return valuesAfter(variable, text, (value, [, name, kind, suffix, sign]) => {
    const isWeak = suffix !== "" || isWeakName(name!, kind!)
    if (sign !== "=" && isDotted(value)) return false
    return isWeak ? isRandom(value.text) : isGiven(value, { isAssigned: sign === "=" })
  })
}

function isWeakName(name: string, kind: string): boolean {
  return (kind === "KEY" && !strong.test(name)) || (kind === "PASS" && !/_PASS$/.test(name))
}

function isRandom(text: string): boolean {
  return text.length >= 12 && isMixed(text) && /^[\w+/=.-]+$/.test(text) && !isIdentity(text)
}

function isGiven({ text, isQuoted }: Value, { isAssigned }: { isAssigned: boolean }): boolean {
  if (text.length < 4 || /^\d{1,7}$/.test(text)) return false
  return isAssigned || isQuoted || (text.length >= 8 && /\d/.test(text))
}

const field =
  /(key|token|secret|passw(?:or)?d|passphrase|pwd|credential)s?\\?["']?[ \t]{0,4}(?:=>|:=|={1,2}|:)[ \t]{0,4}/gi
const noSecretKey =
  /(?:public|primary|foreign|sort|partition|cache|idempotency|i18n|translation|object|group|unique|hash)[_-]?key$/i
const strongField =
  /(?:api|access|secret|private|auth|client|encryption|signing|master|bearer|refresh|session)[_-]?(?:key|token|secret)$|(?:password|passwd|passphrase|secret|token)$/i

/** `"apiKey": "..."`, `password = '...'` and the like, where the value looks like one. */
function fields(text: string): Span[] {
  return valuesAfter(field, text, (value, match) => {
    if (!value.isQuoted && !/\d/.test(value.text)) return false
    const kind = match[1]!
    const name = text.slice(Math.max(0, match.index - 24), match.index + kind.length)
    if (/\s/.test(value.text) || noSecretKey.test(name)) return false
    const isPassword = /^(?:pass|pwd)/i.test(kind)
    return isFieldSecret(value, { isPassword, isStrong: strongField.test(name) })
  })
}

function isFieldSecret(
  value: Value,
  { isPassword, isStrong }: { isPassword: boolean; isStrong: boolean },
): boolean {
  const { text, isQuoted } = value
  if (isQuoted && isPassword)
    return text.length >= 6 && /[^A-Za-z]/.test(text) && !/^[a-z]+(?:[._-][a-z]+)+$/i.test(text)
  if (!isStrong && isIdentity(text)) return false
  if (!isMixed(text) || !/^[\w+/=.~!@#$%^&*:-]+$/.test(text)) return false
  if (isQuoted) return text.length >= (isStrong ? 8 : 16)
  if (isDotted(value)) return false
  if (isPassword) return text.length >= 8
  return text.length >= 20 && text.replace(/\D/g, "").length >= 3 && /^[\w+/=.~-]+$/.test(text)
}

const authorization =
  /authorization\\?["']?[ \t]{0,4}[:=][ \t]{0,4}(?:\\?["'])?(?:(?:bearer|basic|token|digest|apikey|negotiate|key)[ \t]{1,4})?/gi
const bearer = /(?<![A-Za-z])bearer[ \t]{1,4}/gi
const basic = /(?<![A-Za-z])basic[ \t]{1,4}([A-Za-z0-9+/_-]{8,4096}={0,2})/gi
const keyHeader =
  /(?:x-(?:api-key|auth-token|goog-api-key|vault-token|amz-security-token|access-token|csrf-token)|private-token|(?<![A-Za-z-])api-key)\\?["']?[ \t]{0,4}[:=][ \t]{0,4}/gi
const option = /--[a-z-]{0,24}(?:password|passwd|token|secret|api-?key|passphrase)(?:[ \t]{1,4}|=)/gi

function headers(text: string): Span[] {
  const after = (pattern: RegExp, unitsMin: number) =>
    valuesAfter(
      pattern,
      text,
      (value) => value.text.length >= unitsMin && !isDotted(value) && /[\d!@#$%^&*]/.test(value.text),
    )
  const logins = [...text.matchAll(basic)].filter((match) => isLogin(match[1]!)).map(lastGroup)
  return [
    ...after(authorization, 8),
    ...after(bearer, 12),
    ...after(keyHeader, 8),
    ...after(option, 6),
    ...logins,
  ]
}

/** `name:password` in base64. */
function isLogin(base64: string): boolean {
  return /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(Buffer.from(base64, "base64").toString("latin1"))
}

const query =
  /[?&][A-Za-z0-9_.-]{0,24}(?:token|key|secret|sig|signature|password|passwd|credential|auth)=([^&\s#"'<>\\)]{8,2048})/gi

function queries(text: string): Span[] {
  return [...text.matchAll(query)]
    .filter((match) => isMixed(match[1]!) && !isPlaceholder(match[1]!))
    .map(lastGroup)
}

const cookie =
  /(?<![A-Za-z])(?:set-)?cookie\\?["']?[ \t]{0,4}:[ \t]{0,4}(?:\\?["'])?([\w!#$%&*+.^`|~-]{1,64}=[^\n"'\\]{1,4096})/gi

function cookies(text: string): Span[] {
  return [...text.matchAll(cookie)].map(lastGroup)
}

/** Where the group is that ends a match. */
function lastGroup(match: RegExpExecArray): Span {
  const end = match.index + match[0].length
  return { start: end - match[1]!.length, end }
}
