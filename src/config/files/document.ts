import type { ParseError } from "jsonc-parser"
import { findJsonExcess, jsonDepthMax, StemmaError } from "../../protocol/index.ts"
import { findDeepYaml } from "./yaml-depth.ts"

/** A position in a file; line and column count from 1. */
export interface Position {
  line: number
  column: number
}

/** A parsed file, with the positions of its values. */
export interface ConfigDocument {
  /** The path of the file, or a name for a value that came from no file. */
  path: string
  value: unknown
  /**
   * The position of the value at these keys, or of the nearest enclosing value. Undefined for a value that came from no
   * file.
   */
  locate(keys: readonly PropertyKey[]): Promise<Position | undefined>
}

/**
 * Parses JSON with comments and trailing commas. Throws `invalid` with file, line and column if the text is not valid.
 */
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
  return { path, value: withoutPrototypeKeys(await readJsonc(path, text), path), locate }
}

async function readJsonc(path: string, text: string): Promise<unknown> {
  const excess = findJsonExcess(text)
  if (excess) throw tooDeep(path, positionAt(text, excess.at))
  try {
    return JSON.parse(text)
  } catch {
    // Most files are plain JSON. The parser with comments is loaded only for the others.
  }
  const { parse, printParseErrorCode } = await import("jsonc-parser")
  const errors: ParseError[] = []
  const value = guardParser(path, () =>
    parse(text, errors, { allowTrailingComma: true, allowEmptyContent: true }),
  )
  const first = errors[0]
  if (first) {
    const reason = printParseErrorCode(first.error)
      .replace(/(?<=[a-z])(?=[A-Z])/g, " ")
      .toLowerCase()
    throw parseError(path, `it is not valid JSON: ${reason}`, positionAt(text, first.offset))
  }
  return value ?? {}
}

/** Parses Markdown that may begin with YAML between two lines of `---`. Throws `invalid` with file, line and column. */
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
  const deepAt = await findDeepYaml(match[1]!)
  if (deepAt !== undefined) throw tooDeep(path, positionAt(text, start + deepAt))
  const yaml = guardParser(path, () => parseDocument(match[1]!, { logLevel: "silent", prettyErrors: false }))
  // The parser reports an unknown tag only as a warning.
  const problem = yaml.errors[0] ?? yaml.warnings[0]
  if (problem) {
    const reason = problem.message.split("\n")[0]!
    throw parseError(
      path,
      `its front matter is not valid YAML: ${reason}`,
      positionAt(text, start + problem.pos[0]),
    )
  }
  const value = guardParser(path, () => yaml.toJS({ maxAliasCount: 20 }) as unknown)
  const locate = async (keys: readonly PropertyKey[]): Promise<Position> => {
    for (const way = [...keys]; way.length > 0; way.pop()) {
      const node = yaml.getIn(way, true) as { range?: [number, number, number] } | undefined
      if (node?.range) return positionAt(text, start + node.range[0])
    }
    return { line: 1, column: 1 }
  }
  const document = { path, value: withoutPrototypeKeys(value ?? {}, path), locate }
  return { document, body: text.slice(match[0].length).trim() }
}

/** A document for a value that a program passed in. */
export function documentOf(name: string, value: unknown): ConfigDocument {
  return { path: name, value: withoutPrototypeKeys(value, name), locate: async () => undefined }
}

export function parseError(path: string, reason: string, position?: Position): StemmaError {
  const where = position ? `${path}:${position.line}:${position.column}` : path
  return new StemmaError("invalid", `${where}: ${reason}. Correct it and try again; nothing was changed.`, {
    details: { path, ...position },
  })
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") }
}

/** Parsers recurse for each level of nesting, so a hostile file can exhaust the stack. */
function guardParser<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(path)
    throw parseError(path, "it cannot be read")
  }
}

function tooDeep(path: string, position?: Position): StemmaError {
  return parseError(path, `it is nested too deeply, with more than ${jsonDepthMax} levels`, position)
}

/** A plain copy. A key such as `__proto__` would change the prototype of an object instead of becoming a field. */
function withoutPrototypeKeys(value: unknown, path: string, depth = 1): unknown {
  if (typeof value !== "object" || value === null) return value
  if (depth > jsonDepthMax) throw tooDeep(path)
  if (Array.isArray(value)) return value.map((one) => withoutPrototypeKeys(one, path, depth + 1))
  const entries = Object.entries(value).filter(([key]) => key !== "__proto__")
  return Object.fromEntries(entries.map(([key, one]) => [key, withoutPrototypeKeys(one, path, depth + 1)]))
}
