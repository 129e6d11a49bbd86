import type { TextSpan } from "../../text-span.ts"
import { isCall, isFile, isLetters, isMixed, isRules, isStandIn } from "../named-value.ts"
import { isKeyLike } from "../random-text.ts"
import { isGivenPassword } from "./given-password.ts"

interface Cell extends TextSpan {
  text: string
}

/** A table whose header names a secret. */
interface Table {
  separator: Separator
  /** The columns with secrets; true for passwords, which may be words. */
  columns: Map<number, boolean>
  width: number
  rows: number
}

type Separator = "|" | "," | ";" | "\t" | "  "

const separators: readonly Separator[] = ["|", "\t", ",", ";", "  "]
/** A longer line is data. */
const lineUnitsMax = 2000
const rowsMax = 10_000

const passwordHeader =
  /^(?:[\w /.-]{0,24}[ _.-])?(?:passw(?:or)?ds?|pass ?phrases?|pass ?codes?|pwd|pw|pass)(?:[ _-]?hash)?$|^[\p{Script=Han} ]{0,8}(?:密码|口令|密碼)$/iu
const keyHeader =
  /^(?:[\w /.-]{0,24}[ _.-])?(?:(?:api|access|secret|private|auth|client|license)[ _-]?(?:key|token|secret)s?|tokens?|secrets?|keys?|credentials?)$|^[\p{Script=Han}A-Za-z ]{0,12}(?:密钥|秘钥|令牌|私钥|金鑰)$/iu

const telling = /pass|pw|secret|token|key|credential|密码|口令|密碼|密钥|秘钥|令牌|私钥|金鑰/i

/** Finds secrets in tables of Markdown, CSV, terminals and HTML, below a header that names them. */
export function tableSecretSpans(text: string): TextSpan[] {
  if (!telling.test(text)) return []
  const spans = text.includes("<t") ? htmlSpans(text) : []
  let table: Table | undefined
  let before: Cell | undefined
  const lines = linesOf(text)
  let next = lines.next()
  while (!next.done) {
    const line = next.value
    next = lines.next()
    if (line.text.length > lineUnitsMax || line.text.trim() === "") table = undefined
    else if (!isRule(line.text)) {
      const shape = telling.test(line.text) ? shapeOf(line) : undefined
      const isRuled = !next.done && isRule(next.value.text)
      const header = shape && isFirst(shape, { before, isRuled }) ? headerOf(shape, isRuled) : undefined
      if (header) table = header
      else if (table) {
        const cells = cellsOf(line, table.separator)
        if (cells.length !== table.width || ++table.rows > rowsMax) table = undefined
        else spans.push(...secretCells(cells, table.columns))
      }
      if (!header && shape) spans.push(...pairSpans(shape))
    }
    before = line
  }
  return spans
}

/** Whether a line may be a header: in a table of Markdown with a rule below it, else the first line with these cells. */
function isFirst(shape: Shape, { before, isRuled }: { before: Cell | undefined; isRuled: boolean }): boolean {
  if (shape.separator === "|" || isRuled) return isRuled
  return !before || cellsOf(before, shape.separator).length !== shape.cells.length
}

/** The lines. A name and quotes of JSON around the first or the last line are left out. */
function* linesOf(text: string): Generator<Cell> {
  let start = 0
  for (const { index, 0: mark } of text.matchAll(/\r?\n/g)) {
    yield lineOf(text, { start, end: index })
    start = index + mark.length
  }
  yield lineOf(text, { start, end: text.length })
}

function lineOf(text: string, { start, end }: TextSpan): Cell {
  const line = text.slice(start, end)
  const lead = /^\s{0,40}[{[]?\s{0,8}"[\w-]{1,40}"\s{0,4}:\s{0,4}"/.exec(line)?.[0].length ?? 0
  const tail = /"\s{0,4}[,}\]]{1,4}\s*$/.exec(line.slice(-20))?.[0].length ?? 0
  const inside = line.slice(lead, Math.max(lead, line.length - tail))
  return { text: inside, start: start + lead, end: start + lead + inside.length }
}

/** A line between header and rows. */
function isRule(line: string): boolean {
  return /^[\s|+:=─━│┃├┤┼┬┴┌┐└┘╞╡╪╒╕╘╛-]+$/.test(line)
}

/** The cells of a line, by the first separator that gives two or more. */
interface Shape {
  separator: Separator
  cells: Cell[]
}

function shapeOf(line: Cell): Shape | undefined {
  for (const separator of separators) {
    if (separator !== "|" ? !line.text.includes(separator) : !/[|│┃]/.test(line.text)) continue
    const cells = cellsOf(line, separator)
    if (cells.length > 1) return { separator, cells }
  }
  return undefined
}

function headerOf({ separator, cells }: Shape, isRuled: boolean): Table | undefined {
  const columns = new Map<number, boolean>()
  for (const [at, { text }] of cells.entries()) {
    if (passwordHeader.test(text)) columns.set(at, true)
    else if (keyHeader.test(text)) columns.set(at, false)
  }
  const isHeader = cells.every(
    ({ text }) => text.length <= 40 && !/[=:{}()]/.test(text) && (isRuled || !/\d/.test(text)),
  )
  return columns.size > 0 && isHeader ? { separator, columns, width: cells.length, rows: 0 } : undefined
}

/** Two cells: a name and its value. */
function pairSpans({ cells }: Shape): TextSpan[] {
  const [name, value] = cells
  if (cells.length !== 2 || !name || !value) return []
  const isPassword = passwordHeader.test(name.text)
  if (!isPassword && !keyHeader.test(name.text)) return []
  return isSecretCell(value.text, isPassword) ? [{ start: value.start, end: value.end }] : []
}

const cellOf: Record<Separator, RegExp> = {
  "|": /[^|│┃]+/g,
  "\t": /[^\t]+|(?<=\t)(?=\t)/g,
  ",": /"(?:[^"]|"")*"|[^,"]+|(?<=^|,)(?=,|$)/g,
  ";": /"(?:[^"]|"")*"|[^;"]+|(?<=^|;)(?=;|$)/g,
  "  ": /\S+(?: \S+)*/g,
}

/** The cells of a line, without the frame at both ends, quotes and emphasis. */
function cellsOf(line: Cell, separator: Separator): Cell[] {
  const found = [...line.text.matchAll(cellOf[separator])]
  const cells = found.map(({ index, 0: raw }): Cell => {
    const lead = /^[\s"'\x60*\\]*/.exec(raw)![0].length
    const text = raw.slice(lead).replace(/[\s"'\x60*\\]+$/, "")
    const start = line.start + index + lead
    return { text, start, end: start + text.length }
  })
  const isFramed = separator === "|" && /^\s*[|│┃]|[|│┃]\s*$/.test(line.text)
  if (!isFramed) return cells
  const first = line.text.search(/[|│┃]/) + line.start
  const last = line.text.search(/[|│┃][^|│┃]*$/) + line.start
  return cells.filter(({ start, end }) => start > first && end <= last + 1)
}

function secretCells(cells: readonly Cell[], columns: ReadonlyMap<number, boolean>): TextSpan[] {
  return [...columns].flatMap(([at, isPassword]) => {
    const cell = cells[at]
    return cell && isSecretCell(cell.text, isPassword) ? [{ start: cell.start, end: cell.end }] : []
  })
}

function isSecretCell(text: string, isPassword: boolean): boolean {
  if (/\s/.test(text) || text.length < 4 || !/^[\x21-\x7e]+$/.test(text)) return false
  if (!isGivenPassword(text) || isStandIn(text) || isRules(text) || isFile(text)) return false
  if (isCall({ text, isQuoted: false, after: "" }) || /^[\d.:/%-]+$/.test(text))
    return /^\d{6,}$/.test(text) && isPassword
  if (isPassword) return isMixed(text) || /[^\w.-]/.test(text) || isLetters(text, 6) || /\d/.test(text)
  return text.length >= 8 && isMixed(text) && (isKeyLike(text) || text.length >= 24)
}

const row = /<tr\b[^<>]{0,200}>/gi
const cell = /<(t[hd])\b[^<>]{0,200}>(?:\s|<(?:b|code|strong|em|span|p)>){0,6}([^<>]{0,300})/gi

/** Tables of HTML. */
function htmlSpans(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  let columns = new Map<number, boolean>()
  const starts = [...text.matchAll(row)].map(({ index }) => index)
  for (const [at, start] of starts.entries()) {
    const end = Math.min(starts[at + 1] ?? text.length, start + 20_000)
    const cells = [...text.slice(start, end).matchAll(cell)].map((match): Cell => {
      const raw = match[2]!
      const lead = /^\s*/.exec(raw)![0].length
      const from = start + match.index + match[0].length - raw.length + lead
      return { text: raw.trim(), start: from, end: from + raw.trim().length }
    })
    const named = new Map<number, boolean>()
    for (const [index, { text: name }] of cells.entries()) {
      if (passwordHeader.test(name)) named.set(index, true)
      else if (keyHeader.test(name)) named.set(index, false)
    }
    if (named.size > 0 && cells.length > 1) columns = named
    else spans.push(...secretCells(cells, columns))
  }
  return spans
}
