import { createRequire } from "node:module"
import type { Parser, Tree } from "web-tree-sitter"

let loading: Promise<Parser> | undefined

/** The bash parser with its grammar, loaded once. */
export function loadBashParser(): Promise<Parser> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

async function load(): Promise<Parser> {
  const { Language, Parser } = await import("web-tree-sitter")
  const { resolve } = createRequire(import.meta.url)
  const runtime = resolve("web-tree-sitter/web-tree-sitter.wasm")
  await Parser.init({ locateFile: () => runtime })
  const language = await Language.load(resolve("tree-sitter-bash/tree-sitter-bash.wasm"))
  return new Parser().setLanguage(language)
}

/** The tree of a text; undefined if parsing takes longer than the limit. */
export function parseWithin(parser: Parser, text: string, timeoutMs: number): Tree | undefined {
  const end = performance.now() + timeoutMs
  // The parser would resume where it was stopped unless it is reset.
  const tree = parser.parse(text, null, { progressCallback: () => performance.now() > end })
  if (tree === null) parser.reset()
  return tree ?? undefined
}
