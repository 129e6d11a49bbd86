import { grepResult, jsonDocument, logLines, lookAround, sourceFile } from "./noise-output.ts"
import type { Language } from "./phrasings/phrasing.ts"
import type { ToolCall } from "./tool-part.ts"
import type { Values } from "./values.ts"

/** A typical tool call of a session: mostly reading, searching and listing, sometimes a change. */
export function noiseCall(values: Values, language: Language): ToolCall {
  const { draw } = values
  const kind = draw.int(1, 100)
  if (kind <= 40) return read(values, sourceFile(values, { lines: draw.int(40, 180), language }))
  if (kind <= 55) return look(values)
  if (kind <= 72) return grep(values)
  if (kind <= 82) return read(values, jsonDocument(values, draw.int(6, 20)))
  if (kind <= 92) return read(values, logLines(values, draw.int(40, 120)))
  if (kind <= 96) return edit(values)
  return {
    tool: "bash",
    input: { command: "npm test" },
    output: "42 passing (3s)",
    title: "npm test",
    metadata: { exit: 0 },
  }
}

function read(values: Values, output: string): ToolCall {
  const path = values.path()
  return { tool: "read", input: { filePath: path }, output, title: path, metadata: { truncated: true } }
}

function look(values: Values): ToolCall {
  const { command, output } = lookAround(values)
  return { tool: "bash", input: { command }, output, title: command, metadata: { exit: 0 } }
}

function grep(values: Values): ToolCall {
  const pattern = values.fn()
  const output = grepResult(values, pattern)
  return { tool: "grep", input: { pattern }, output, title: pattern, metadata: { truncated: false } }
}

function edit(values: Values): ToolCall {
  const path = values.path()
  return {
    tool: "edit",
    input: { filePath: path, oldString: values.fn(), newString: values.fn() },
    output: `Edited ${path} at line ${values.draw.int(1, 400)}.`,
    title: path,
    metadata: { exists: true, diff: "" },
  }
}
