import type { Node } from "web-tree-sitter"
import { readRedirect, type StatementReader } from "./redirects.ts"
import { type SimpleCommand, type Statement, Unparsed } from "./script.ts"

export function readIf(node: Node, reader: StatementReader): Statement {
  const parts = reader.parts(node, ["if", "fi", "elif", "else"])
  const then = parts.findIndex((child) => child.type === "then")
  const clauses = parts.filter((child) => child.type === "elif_clause" || child.type === "else_clause")
  const main = parts.filter((child) => !clauses.includes(child))
  const condition = then < 0 ? [] : main.slice(0, then)
  if (then >= 0) reader.checkToken(parts[then]!)
  const body = reader.statements(then < 0 ? main : main.slice(then + 1))
  return {
    kind: "branch",
    words: [],
    condition: { kind: "sequence", items: reader.statements(condition) },
    bodies: [{ kind: "sequence", items: body }, ...clauses.map((clause) => readIf(clause, reader))],
  }
}

export function readWhile(node: Node, reader: StatementReader): Statement {
  const parts = reader.parts(node, ["while", "until"])
  const body = parts.pop()
  if (body?.type !== "do_group") throw new Unparsed("A loop has an unsupported form.")
  const condition: Statement = { kind: "sequence", items: reader.statements(parts) }
  const group = reader.body(body, ["do", "done"])
  return { kind: "loop", words: [], body: { kind: "sequence", items: [condition, group] } }
}

export function readFor(node: Node, reader: StatementReader): Statement {
  const parts = reader.parts(node, ["for", "in", ";", "\n"])
  const [variable, ...rest] = parts
  const body = rest.pop()
  if (variable?.type !== "variable_name" || body?.type !== "do_group")
    throw new Unparsed("A loop has an unsupported form.")
  if (!/^[A-Za-z_]\w*$/.test(variable.text)) throw new Unparsed("A loop has an unsupported form.")
  for (let i = 1; i < rest.length; i++) {
    if (/\n/.test(reader.source.slice(rest[i - 1]!.endIndex, rest[i]!.startIndex).replaceAll("\\\n", ""))) {
      throw new Unparsed("A loop has an unsupported form.")
    }
  }
  return {
    kind: "loop",
    variable: variable.text,
    words: rest.map((word) => reader.word(word)),
    body: reader.body(body, ["do", "done"]),
  }
}

export function readCase(node: Node, reader: StatementReader): Statement {
  const parts = reader.parts(node, ["case", "in", "esac", ";", "\n"])
  const [value, ...items] = parts
  if (!value || items.some((item) => item.type !== "case_item"))
    throw new Unparsed("A case has an unsupported form.")
  return {
    kind: "branch",
    words: [reader.word(value)],
    bodies: items.map((item) => readCaseItem(item, reader)),
  }
}

function readCaseItem(node: Node, reader: StatementReader): Statement {
  const parts = reader.childrenOf(node, { newlines: true })
  const close = parts.findIndex((child) => child.type === ")")
  for (const pattern of parts.slice(0, close)) {
    if (pattern.type === "(" || pattern.type === "|") continue
    if (!/^[\w.*?/+:@%=,-]+$/.test(pattern.text) && pattern.type !== "raw_string") {
      throw new Unparsed("A case pattern has an unsupported form.")
    }
  }
  const rest = parts.slice(close + 1).filter((child) => ![";;", ";&", ";;&"].includes(child.type))
  return { kind: "sequence", items: reader.statements(rest) }
}

export function readFunction(node: Node, reader: StatementReader): Statement {
  const parts = reader.parts(node, ["function", "(", ")"])
  const [name, body, ...redirects] = parts
  if (!name || !body || !/^[A-Za-z_]\w*$/.test(name.text))
    throw new Unparsed("A function has an unsupported form.")
  const command: SimpleCommand = { kind: "command", assignments: [], words: [], redirects: [] }
  for (const redirect of redirects) readRedirect(redirect, { command, reader })
  if (command.words.length > 0) throw new Unparsed("A function has an unsupported form.")
  return {
    kind: "function",
    name: name.text,
    body: { kind: "redirected", body: reader.statement(body), redirects: command.redirects },
  }
}
