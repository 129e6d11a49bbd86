import { matchEnd, type TextSpan } from "../../text-span.ts"
import { isLetters, isMixed, isStandIn, isWords } from "../named-value.ts"
import { isGivenPassword } from "./given-password.ts"

/** Finds passwords in forms of HTML, and in calls of PHP and other languages that are given a login. */
export function formPasswordSpans(text: string): TextSpan[] {
  return [...inputs(text), ...namedArguments(text), ...logins(text), ...typed(text)]
}

const input = /<(?:input|meta|param|property|add|connection|datasource|user|credentials?)\b[^<>]{1,800}/gi
const attribute =
  /(?<![\w-])([\w:.-]{1,40})[ \t\n]{0,4}=[ \t\n]{0,4}(?:\\{0,3}(["'])([^"'<>]{0,300}?)\\{0,3}\2|([^\s"'<>=\\{}]{1,200}))/g
const secretName =
  /(?:passw(?:or)?d|passphrase|passcode|pwd|(?:^|[_.-])pass|(?:^|[_.-])pw|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)$/i

/** The value of an input whose type or name says that it is secret. */
function inputs(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  for (const { index, 0: tag } of text.matchAll(input)) {
    const attributes = [...tag.matchAll(attribute)].map((match) => ({
      name: match[1]!.toLowerCase(),
      value: match[3] ?? match[4] ?? "",
      quote: match[2] ?? "",
      start: index + match.index + match[0].lastIndexOf(match[3] ?? match[4] ?? ""),
    }))
    const of = (name: string) => attributes.find((one) => one.name === name)?.value ?? ""
    const isPassword = /^password$/i.test(of("type"))
    const isNamed = secretName.test(of("name")) || secretName.test(of("id")) || secretName.test(of("key"))
    for (const { name, value, quote, start } of attributes) {
      const isValue = /^(?:value|defaultvalue|content)$/.test(name) && (isPassword || isNamed)
      if (!isValue && !(secretName.test(name) && !/^(?:type|name|id)$/.test(name))) continue
      if (!isGivenPassword(value, { quote: quote || '"' })) continue
      if (isPassword || isProbable(value)) spans.push({ start, end: start + value.length })
    }
  }
  return [...spans, ...textareas(text)]
}

const textarea =
  /<textarea\b[^<>]{0,200}name=\\{0,3}["'][\w.-]{0,40}(?:passw(?:or)?d|secret|token)\\{0,3}["'][^<>]{0,200}>([^<>\n]{1,300})(?=<\/)/gi

function textareas(text: string): TextSpan[] {
  return [...text.matchAll(textarea)]
    .filter(({ 1: value }) => isGivenPassword(value!) && isProbable(value!))
    .map((match) => matchEnd(match, match[1]!))
}

/** One word that is neither a label nor a name in code. */
function isProbable(value: string): boolean {
  if (/\s/.test(value) || value.length < 4 || isStandIn(value) || /^[./#]/.test(value)) return false
  return (
    isMixed(value) || /[^\w.-]/.test(value) || isLetters(value, 6) || (!isWords(value) && /\d/.test(value))
  )
}

const quote = String.raw`\\{0,3}["'\x60]`
const argument = String.raw`(?:${quote}([^"'\x60\n\\]{3,300}|(?:[^"'\x60\n\\]|\\[^"'\x60\n]){3,300})(?=${quote}))`
const name = String.raw`[\w.-]{0,60}(?:passw(?:or)?d|passphrase|pwd|[_.-]pass|secret|token|(?:api|auth|access|secret|private|logged_in|nonce|secure_auth)[_-]?(?:key|salt)|keyStorePassword)`
const namedArgument = new RegExp(
  String.raw`(?:(define|env|getenv|setenv|putenv|setProperty|setdefault|set|put|add|addHeader|header|append|config|option|property)${String.raw`[ \t]{0,2}\([ \t]{0,4}`})?${quote}${name}${quote}[ \t]{0,4},[ \t\n]{0,12}${argument}`,
  "gi",
)

/** `define('DB_PASSWORD', '...')` and other pairs of a name and a value. In a plain list, words are other names. */
function namedArguments(text: string): TextSpan[] {
  return [...text.matchAll(namedArgument)]
    .filter(({ 1: call, 2: value }) => {
      if (!isGivenPassword(value!, { quote: "'" })) return false
      // Keys and salts of WordPress have spaces.
      if (call === "define" && isMixed(value!) && /[^\w\s./-]/.test(value!)) return true
      if (!isProbable(value!)) return false
      return call !== undefined || (isMixed(value!) && value!.length >= 8)
    })
    .map((match) => matchEnd(match, match[2]!))
}

const anyArgument = String.raw`(?:${quote}[^"'\x60\n]{0,200}${quote}|[\w$.>[\]()-]{1,80})`
const comma = String.raw`[ \t]{0,4},[ \t\n]{0,12}`
const login = new RegExp(
  String.raw`(?:\b(?:ftp_login|ldap_bind|ssh2_auth_password|imap_open)\([ \t]{0,4}${anyArgument}${comma}|(?<=[\w)\]]\.|\bnew |[=\s(@])(?:login|log_in|signIn|signin|sign_in|bind|auth|authenticate|basicAuth|basic_auth|setBasicAuth|HTTPBasicAuth|HTTPDigestAuth|NetworkCredential|UsernamePasswordCredentials|PasswordAuthentication|changeUserPassword|setCredentials|set_credentials|with_credentials|PlainAuth)(?:\([ \t]{0,4}|=\([ \t]{0,4}|[ \t]{0,2}=[ \t]{0,2}[[(][ \t]{0,4}))${quote}[^"'\x60\n]{0,120}${quote}${comma}${argument}`,
  "g",
)
const connect = new RegExp(
  String.raw`\b(?:PDO|mysqli|mysqli_connect|mysql_connect|mysql_pconnect|oci_connect|odbc_connect|sqlsrv_connect|getConnection|createConnection|DriverManagerDataSource)[ \t]{0,2}\([ \t]{0,4}${anyArgument}${comma}${anyArgument}${comma}${argument}`,
  "g",
)
const userPassword = new RegExp(
  String.raw`CURLOPT_(?:PROXY)?USERPWD[ \t]{0,4}(?:,|=>)[ \t]{0,4}${quote}[^"'\x60:\n]{1,64}:([^"'\x60\n\\]{1,200})`,
  "g",
)

/** Calls with the name of a user and a password. */
function logins(text: string): TextSpan[] {
  return [login, connect, userPassword].flatMap((pattern) =>
    [...text.matchAll(pattern)]
      .filter(({ 1: value }) => isGivenPassword(value!, { quote: "'" }))
      .map((match) => matchEnd(match, match[1]!)),
  )
}

const field = new RegExp(
  String.raw`(?:${quote}[^"'\x60\n]{0,80}(?:passw(?:or)?d|passphrase|密码)[^"'\x60\n]{0,40}${quote}[ \t]{0,4}\)?[ \t]{0,4}(?:,[ \t]{0,4}|\.(?:type|fill|send_keys|sendKeys|setValue|set_value|set|val|value|input|pressSequentially)\([ \t]{0,4}))${argument}`,
  "gi",
)
const typing =
  /\b(?:fill|type|fillIn|fill_in|sendKeys|send_keys|setValue|typeText|enterText|pressSequentially|val|input)\b/

/** A test that types a password into a field of a page. */
function typed(text: string): TextSpan[] {
  return [...text.matchAll(field)]
    .filter((match) => {
      const before = text.slice(Math.max(0, match.index - 24), match.index)
      return (
        typing.test(before + match[0].slice(0, match[0].length - match[1]!.length)) &&
        isGivenPassword(match[1]!, { quote: "'" })
      )
    })
    .map((match) => matchEnd(match, match[1]!))
}
