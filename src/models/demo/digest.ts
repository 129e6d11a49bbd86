import type { ContextToolResult } from "../../session/index.ts"
import type { DemoCall, DemoTodo } from "./wish.ts"

/** The facts of a tool result that a sentence about it needs. */
export interface Digest {
  /** The number of lines, as far as the result states it. */
  total: number
  /** The first lines, cut, with control characters removed. */
  first: string[]
}

const firstLines: Record<string, number> = { read: 4, bash: 8, task: 12, list: 10 }
const otherFirstLines = 6
const lineLengthMax = 120

/** Summarises a tool's output: its lines without the notices that the tool adds. */
export function digestOf(call: DemoCall, output: string): Digest {
  const text = textOf(call, output)
  const lines = contentLines(call, text.split("\n").map(cleanLine))
  const hits = call.tool === "grep" ? lines.filter((line) => /^\s*\d+: /.test(line)) : []
  const counted = hits.length || lines.length
  const total = saysNothing(lines) ? 0 : (toldTotal(call, text) ?? counted + toldMore(text))
  return { total, first: total === 0 ? [] : lines.slice(0, firstLines[call.tool] ?? otherFirstLines) }
}

function contentLines({ tool }: DemoCall, all: readonly string[]): string[] {
  const isNotice = (line: string) => /^\s*\(.*\)$/.test(line) || /^<\/?[\w-]+>$/.test(line)
  const lines = all.filter((line) => line.trim() !== "" && (tool === "bash" || !isNotice(line)))
  if (tool === "list") return lines.slice(lines[0]?.endsWith("/") ? 1 : 0)
  return tool === "read" ? lines.map((line) => line.replace(/^\s*\d+\| ?/, "")) : lines
}

/** The total number of lines that the notice of a `read` result states. */
function toldTotal({ tool }: DemoCall, text: string): number | undefined {
  const told = /^\((?:End of the file: |Lines .* of (?:more than )?)(\d+)/m.exec(text)
  return tool === "read" && told ? Number(told[1]) : undefined
}

function toldMore(text: string): number {
  return Number(/^\((\d+) more /m.exec(text)?.[1] ?? 0)
}

function textOf({ tool }: DemoCall, output: string): string {
  if (tool === "task") return output.split("<task_metadata>")[0]!
  return tool === "todoread" ? (todoLines(output) ?? output) : output
}

function todoLines(output: string): string | undefined {
  try {
    const todos = JSON.parse(output) as DemoTodo[]
    return todos.map((todo) => `[${todo.status === "completed" ? "x" : " "}] ${todo.content}`).join("\n")
  } catch {
    return undefined
  }
}

function saysNothing(lines: readonly string[]): boolean {
  return (
    lines.length === 0 ||
    (lines.length <= 2 && /^(?:no (?:files?|lines?|match|result|entr)|nothing )/i.test(lines[0]!))
  )
}

function cleanLine(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal would obey control characters
  const clean = line.replace(/\u001b\[[\d;?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")
  return clean.length > lineLengthMax ? `${clean.slice(0, lineLengthMax).toWellFormed()}...` : clean
}

/** True if a person or a rule refused the call; false if the call failed otherwise. */
export function isRefusal({ output }: ContextToolResult): boolean {
  return /\b(?:permission|permitted|denied|reject(?:s|ed)?|refus(?:es?|ed)|not allowed|forbid(?:s|den)?)\b|拒绝|不允许/i.test(
    output,
  )
}

export function firstSentence(text: string): string {
  const line = cleanLine(text.trim().split("\n", 1)[0]!)
  return /^.{20,}?[.!?。！？](?=\s|$)/u.exec(line)?.[0] ?? line
}

/** The lines in a code fence that is longer than any run of backticks in them. */
export function fenced(lines: readonly string[]): string {
  const longest = Math.max(2, ...lines.flatMap((line) => line.match(/`+/g) ?? []).map((run) => run.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}\n${lines.join("\n")}\n${fence}`
}
