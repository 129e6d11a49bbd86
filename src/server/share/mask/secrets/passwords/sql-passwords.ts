import type { TextSpan } from "../../text-span.ts"
import { isGivenPassword } from "./given-password.ts"

/** A text of SQL in quotes. N marks Unicode, E and B other forms. */
const literal = String.raw`[NEB]?\\{0,3}(["'])([^"'\n]{1,200}?)\\{0,3}\1`
const blank = String.raw`(?:\s|\\[nrt]){1,12}`
const space = String.raw`(?:\s|\\[nrt]){0,12}`

const clauses: readonly RegExp[] = [
  // IDENTIFIED BY '...', also of a plugin, and of Oracle without quotes.
  new RegExp(
    String.raw`\bIDENTIFIED${blank}(?:WITH${blank}[\w."'\x60]{1,64}${blank})?(?:BY|AS)${blank}(?:PASSWORD${blank}|VALUES${blank})?(?:${literal}|([^\s"'\x60;,\\()]{1,128}))`,
    "gi",
  ),
  // PASSWORD '...' and PASSWORD = '...' of roles, users and logins.
  new RegExp(
    String.raw`\b(?:OLD_)?PASSWORD(?:${blank}|${space}=${space})(?:PASSWORD${space}\(${space})?${literal}`,
    "gi",
  ),
  new RegExp(
    String.raw`\bSET${blank}PASSWORD(?:${blank}FOR${blank}[^\s=]{1,160})?${space}=${space}(?:PASSWORD${space}\(${space})?${literal}`,
    "gi",
  ),
  // A function that hashes a password: PASSWORD('...'), crypt('...', gen_salt('bf')).
  new RegExp(String.raw`\b(?:PASSWORD|CRYPT|ENCRYPT)\(${space}${literal}`, "gi"),
  new RegExp(
    String.raw`\b\w{0,24}?(?:password|passwd|pwd|pass)\b["'\x60]?${space}=${space}(?:MD5|SHA\d?|SHA2|HASHBYTES|ENCODE|DIGEST|crypt|hash\w{0,16}|bcrypt)\(${space}(?:'SHA\w{1,8}'${space},${space})?${literal}`,
    "gi",
  ),
  // ACL SETUSER name on >password, of Redis.
  /\bACL[ \t]{1,4}SETUSER[ \t]{1,4}\S{1,64}[^\n>]{0,80}[ \t](>)([^\s"'\\]{1,128})/gi,
]

/** Finds passwords in statements of SQL and of other databases. */
export function sqlPasswordSpans(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  for (const clause of clauses) {
    for (const match of text.matchAll(clause)) {
      const value = match[2] ?? match[3]
      if (value === undefined || !isGivenPassword(value, { quote: match[2] === undefined ? "" : "'" }))
        continue
      const start = match.index + match[0].lastIndexOf(value)
      spans.push({ start, end: start + value.length })
    }
  }
  return text.search(insertWord) < 0 ? spans : [...spans, ...insertedSpans(text)]
}

const insertWord = /\bINSERT\b|\bREPLACE\b/i
const insert = new RegExp(
  String.raw`\b(?:INSERT|REPLACE)${blank}(?:(?:IGNORE|OR${blank}\w{1,8})${blank})?INTO${blank}[\w."'\x60[\]\\]{1,120}${space}\(([^()\n]{1,600})\)${space}VALUES?${space}\(`,
  "gi",
)
const secretColumn =
  /^[\s"'\x60[\]\\]{0,4}\w{0,32}(?:passw(?:or)?d|passphrase|pwd|pass|secret|token|api_?key|access_?key|private_?key)["'\x60[\]\\\s]{0,4}$/i
const rowsMax = 200

/** The values of secret columns of an INSERT. */
function insertedSpans(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  for (const match of text.matchAll(insert)) {
    const columns = match[1]!.split(",")
    const secret = new Set(columns.flatMap((column, at) => (secretColumn.test(column) ? [at] : [])))
    if (secret.size > 0) spans.push(...rowSpans(text, { from: match.index + match[0].length, secret }))
  }
  return spans
}

const rowLiteral = String.raw`[NEB]?\\{0,3}'((?:[^'\\\n]|''|\\[^'\n]){0,400})\\{0,3}'|[NEB]?\\{0,3}"((?:[^"\\\n]|""|\\[^"\n]){0,400})\\{0,3}"`
/** The next value of a row: a text in quotes, a call with one, or other text up to a comma or the closing bracket. */
const rowValue = new RegExp(
  String.raw`(?:\s|\\[nrt]){0,12}(?:[\w.]{1,32}\((?:${rowLiteral})[^()'"\n]{0,80}(?:\([^()\n]{0,80}\)[^()'"\n]{0,40})?\)|(?:${rowLiteral})|[^,()'"\n]{0,200}(?:\([^()\n]{0,80}\))?)(?:\s|\\[nrt]){0,12}`,
  "y",
)
const nextRow = /(?:\s|\\[nrt])*\)(?:\s|\\[nrt])*,(?:\s|\\[nrt])*\(/y

function rowSpans(text: string, { from, secret }: { from: number; secret: ReadonlySet<number> }): TextSpan[] {
  const spans: TextSpan[] = []
  let at = from
  for (let row = 0; row < rowsMax; row++) {
    for (let column = 0; column < 100; column++) {
      rowValue.lastIndex = at
      const match = rowValue.exec(text)
      if (!match) return spans
      const value = match.slice(1).find((group) => group !== undefined)
      if (secret.has(column) && value !== undefined && isGivenPassword(value, { quote: "'" })) {
        const start = at + match[0].search(/["']/) + 1
        spans.push({ start, end: start + value.length })
      }
      at += match[0].length
      if (text[at] !== ",") break
      at++
    }
    nextRow.lastIndex = at
    const next = nextRow.exec(text)
    if (!next) return spans
    at += next[0].length
  }
  return spans
}
