import type { ParseError } from "jsonc-parser"
import { StemmaError } from "../../protocol/index.ts"

/** Where something is in a file; both count from 1. */
export interface Position {
  line: number
  column: number
}

/** What a file says, and where it says it. */
export interface ConfigDocument {
  /** The file, or a name for what came from no file. */
  path: string
  value: unknown
  /** Where the value at these keys is, or the nearest one around it. Undefined for what came from no file. */
  locate(keys: readonly PropertyKey[]): Promise<Position | undefined>
}

/** JSON with comments and trailing commas. Throws `invalid` with file, line and column if it is none. */
export async function parseJsonc(path: string, text: string): Promise<ConfigDocument> {
  const locate = async (keys: readonly PropertyKey[]): Promise<Position> => {
    const { findNodeAtLocation, parseTree } = await import("jsonc-parser")
    const tree = parseTree(text, [], { allowTrailingComma: true })
    const way = keys.map((key) => (typeof key === "number" ? key : String(key)))
    for (; tree && way.length > 0; way.pop()) {
      const node = findNodeAtLocation(tree, way)
      if (node) return positionAt(text, node.offset)
    }
    return { line: 1, column: 1 }
  }
  return { path, value: withoutPrototypeKeys(await readJsonc(path, text)), locate }
}

async function readJsonc(path: string, text: string): Promise<unknown> {
  try {
    return JSON.parse(text)
  } catch {
    // Most files are plain JSON; the parser for the rest is loaded when there is one.
  }
  const { parse, printParseErrorCode } = await import("jsonc-parser")
  const errors: ParseError[] = []
  const value = orTooDeep(path, () =>
    parse(text, errors, { allowTrailingComma: true, allowEmptyContent: true }),
  )
  const first = errors[0]
  if (first) {
    const reason = printParseErrorCode(first.error)
      .replace(/(?<=[a-z])(?=[A-Z])/g, " ")
      .toLowerCase()
    throw misread(path, `it is not JSON: ${reason}`, positionAt(text, first.offset))
  }
  return value ?? {}
}

/** Markdown that may begin with YAML between two lines of `---`. Throws `invalid` as above. */
export async function parseFrontMatter(
  path: string,
  text: string,
): Promise<{ document: ConfigDocument; body: string }> {
  const match = /---[ \t]*\r?\n([\s\S]*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|$)/my.exec(text)
  if (match === null) {
    return { document: { path, value: {}, locate: async () => ({ line: 1, column: 1 }) }, body: text.trim() }
  }
  const start = text.indexOf("\n") + 1
  const { parseDocument } = await import("yaml")
  const yaml = orTooDeep(path, () => parseDocument(match[1]!, { logLevel: "silent", prettyErrors: false }))
  // A tag that nobody knows is only a warning for the parser.
  const problem = yaml.errors[0] ?? yaml.warnings[0]
  if (problem) {
    const reason = problem.message.split("\n")[0]!
    throw misread(path, `its front matter is not YAML: ${reason}`, positionAt(text, start + problem.pos[0]))
  }
  const value = orTooDeep(path, () => yaml.toJS({ maxAliasCount: 20 }) as unknown)
  const locate = async (keys: readonly PropertyKey[]): Promise<Position> => {
    for (const way = [...keys]; way.length > 0; way.pop()) {
      const node = yaml.getIn(way, true) as { range?: [number, number, number] } | undefined
      if (node?.range) return positionAt(text, start + node.range[0])
    }
    return { line: 1, column: 1 }
  }
  const document = { path, value: withoutPrototypeKeys(value ?? {}), locate }
  return { document, body: text.slice(match[0].length).trim() }
}

/** A value that a program gave. */
export function documentOf(name: string, value: unknown): ConfigDocument {
  return { path: name, value: withoutPrototypeKeys(value), locate: async () => undefined }
}

export function misread(path: string, reason: string, position?: Position): StemmaError {
  const where = position ? `${path}:${position.line}:${position.column}` : path
  return new StemmaError("invalid", `${where}: ${reason}. Correct it and try again; nothing was changed.`, {
    details: { path, ...position },
  })
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") }
}

/** Parsers call themselves for each level of nesting, so a file made for it runs them out of stack. */
function orTooDeep<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw misread(path, error instanceof RangeError ? "it is nested too deep" : "it cannot be read")
  }
}

const depthMax = 32

/** A plain copy. A key such as `__proto__` would change the object that it is put on instead of becoming a field. */
function withoutPrototypeKeys(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value
  if (depth > depthMax) return null
  if (Array.isArray(value)) return value.map((one) => withoutPrototypeKeys(one, depth + 1))
  const entries = Object.entries(value).filter(([key]) => key !== "__proto__")
  return Object.fromEntries(entries.map(([key, one]) => [key, withoutPrototypeKeys(one, depth + 1)]))
}
