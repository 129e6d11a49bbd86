import type { Node } from "web-tree-sitter"
import { Unparsed, type Word } from "./script.ts"

/**
 * The text of a heredoc, after a check that bash ends it where the tree does: at the first line that equals the
 * delimiter.
 */
export function readHeredoc(node: Node, source: string): Word {
  const start = node.children.find((child) => child.type === "heredoc_start")
  const body = node.children.find((child) => child.type === "heredoc_body")
  const end = node.children.find((child) => child.type === "heredoc_end")
  const operator = node.children.find((child) => child.type === "<<" || child.type === "<<-")
  if (!start || !end || !operator) throw new Unparsed("A heredoc has an unsupported form.")
  const mark = /^(?:(\w+)|'(\w+)'|"(\w+)"|\\(\w+))$/.exec(start.text)
  const name = mark?.slice(1).find((group) => group !== undefined)
  if (!mark || name === undefined) throw new Unparsed("A heredoc has an unsupported delimiter.")

  const lineEnd = source.indexOf("\n", start.endIndex)
  if (lineEnd < 0) throw new Unparsed("A heredoc is not closed.")
  // The delimiter's line ends at the first line break only if nothing on it is quoted, continued or another heredoc.
  const line = source.slice(start.endIndex, lineEnd)
  if (/<<|\\$|#/.test(line) || crosses(node, lineEnd))
    throw new Unparsed("A heredoc has an unsupported form.")
  const { text, endAt } = bodyOf(source, lineEnd + 1, { name, tabs: operator.type === "<<-" })
  if (end.endIndex !== endAt || (body && body.startIndex < lineEnd))
    throw new Unparsed("A heredoc ends elsewhere for bash.")
  const literal = mark[1] === undefined
  if (!literal && /`|\$\(|\$\{|\$\[|\\/.test(text)) throw new Unparsed("A heredoc contains substitutions.")
  const certain = literal || !text.includes("$")
  return {
    source: start.text,
    ...(certain ? { value: text } : {}),
    prefix: "",
    splits: false,
    substitutions: [],
  }
}

/** True if something on the delimiter's line continues after the end of the line. */
function crosses(node: Node, lineEnd: number): boolean {
  return node.children.some(
    (child) =>
      !child.type.startsWith("heredoc_") &&
      child.type !== "\n" &&
      child.startIndex < lineEnd &&
      child.endIndex > lineEnd,
  )
}

function bodyOf(
  source: string,
  from: number,
  mark: { name: string; tabs: boolean },
): { text: string; endAt: number } {
  const lines: string[] = []
  let at = from
  while (at <= source.length) {
    const next = source.indexOf("\n", at)
    const stop = next < 0 ? source.length : next
    const line = source.slice(at, stop)
    const bare = mark.tabs ? line.replace(/^\t+/, "") : line
    if (bare === mark.name) return { text: lines.map((each) => `${each}\n`).join(""), endAt: stop }
    lines.push(bare)
    if (next < 0) break
    at = next + 1
  }
  throw new Unparsed("A heredoc is not closed.")
}
