import type { Node } from "web-tree-sitter"
import { readHeredoc } from "./heredoc.ts"
import { type Redirect, type SimpleCommand, type Statement, Unparsed, type Word } from "./script.ts"
import { checkBlanks } from "./strict-text.ts"
import type { TreeText } from "./tree-text.ts"

/** Reads the parts of a statement. */
export interface StatementReader extends TreeText {
  statement(node: Node): Statement
  statements(nodes: Node[]): Statement[]
  body(node: Node, tokens: string[]): Statement
  word(node: Node): Word
}

interface Target {
  command: SimpleCommand
  reader: StatementReader
}

/** A statement after a heredoc's delimiter on the same line. */
interface Follower {
  operator: string
  statement: Statement
}

export function readRedirected(node: Node, reader: StatementReader): Statement {
  const children = reader.childrenOf(node, { newlines: false })
  const bodies = children.filter((child) => !child.type.endsWith("_redirect"))
  if (bodies.length > 1) throw new Unparsed("A redirect has an unsupported form.")
  const body = bodies[0] && reader.statement(bodies[0])
  const command: SimpleCommand =
    body?.kind === "command" ? body : { kind: "command", assignments: [], words: [], redirects: [] }
  const wordsBefore = command.words.length
  const followers: Follower[] = []
  for (const child of children) {
    if (child === bodies[0]) continue
    if (child.type === "heredoc_redirect") followers.push(...readMarkLine(child, { command, reader }))
    else readRedirect(child, { command, reader })
  }
  if (body && body.kind !== "command") {
    if (command.words.length > wordsBefore) throw new Unparsed("Words after a redirect belong to no command.")
    return follow({ kind: "redirected", body, redirects: command.redirects }, followers)
  }
  return follow(command, followers)
}

/** Adds the redirect to the command. For bash, words after its file are arguments. */
export function readRedirect(node: Node, { command, reader }: Target): void {
  const children = reader.childrenOf(node, { newlines: false })
  const operator = children.find((child) => !child.isNamed)
  const words = children.filter((child) => child.isNamed && child.type !== "file_descriptor")
  if (!operator || words.some((word) => word.startIndex < operator.startIndex)) {
    throw new Unparsed("A redirect has an unsupported form.")
  }
  const descriptor = children.find((child) => child.type === "file_descriptor")
  if (descriptor && (!/^\d+$/.test(descriptor.text) || descriptor.endIndex !== operator.startIndex)) {
    throw new Unparsed("A redirect of a descriptor has an unsupported form.")
  }
  if (descriptor && !/[\s;&|()]|^$/.test(reader.source[descriptor.startIndex - 1] ?? "")) {
    throw new Unparsed("A redirect of a descriptor has an unsupported form.")
  }
  const [target, ...rest] = words.map((word) => reader.word(word))
  command.words.push(...rest)
  const redirect = toRedirect(operator.type, target)
  if (redirect) command.redirects.push(redirect)
}

/** The tree puts the rest of the delimiter's line inside the heredoc. */
function readMarkLine(node: Node, { command, reader }: Target): Follower[] {
  const children = node.children
  command.redirects.push({ access: "text", target: readHeredoc(node, reader.source) })
  const followers: Follower[] = []
  let at = children.findIndex((child) => child.type === "heredoc_start") + 1
  let end = children[at - 1]!.endIndex
  for (; at < children.length; at++) {
    const child = children[at]!
    if (child.type === "\n" || child.type === "heredoc_body" || child.type === "heredoc_end") break
    checkBlanks(reader.source.slice(end, child.startIndex), { newlines: false })
    end = child.endIndex
    if (child.type.endsWith("_redirect")) readRedirect(child, { command, reader })
    else if (child.type === "&&" || child.type === "||") {
      const right = children[++at]
      if (!right) throw new Unparsed("A heredoc has an unsupported form.")
      end = right.endIndex
      followers.push({ operator: child.type, statement: reader.statement(right) })
    } else if (child.type === "pipeline") {
      const [bar, ...rest] = reader.childrenOf(child, { newlines: true })
      if ((bar?.type !== "|" && bar?.type !== "|&") || rest.length !== 1)
        throw new Unparsed("A heredoc has an unsupported form.")
      followers.push({ operator: "|", statement: reader.statement(rest[0]!) })
    } else command.words.push(reader.word(child))
  }
  return followers
}

function follow(first: Statement, followers: Follower[]): Statement {
  return followers.reduce<Statement>((left, { operator, statement }) => {
    if (operator === "|") return { kind: "isolated", bodies: [left, statement] }
    return { kind: operator === "&&" ? "and" : "or", left, right: statement }
  }, first)
}

function toRedirect(operator: string, target: Word | undefined): Redirect | undefined {
  if (operator === "<&-" || operator === ">&-") {
    if (target) throw new Unparsed("A redirect has an unsupported form.")
    return undefined
  }
  if (!target) throw new Unparsed("A redirect has no file.")
  switch (operator) {
    case "<":
      return { access: "read", target }
    case ">":
    case ">>":
    case ">|":
    case "&>":
    case "&>>":
      return { access: "edit", target }
    case "<<<":
      return { access: "text", target }
    case "<&":
    case ">&":
      if (target.value !== undefined && /^(?:\d+-?|-)$/.test(target.value)) return undefined
      return { access: operator === ">&" ? "edit" : "read", target }
    default:
      throw new Unparsed(`The redirect ${operator} is not supported.`)
  }
}
