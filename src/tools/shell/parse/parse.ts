import type { Parser } from "web-tree-sitter"
import { loadBashParser, parseWithin } from "./language.ts"
import { Reader } from "./reader.ts"
import { type Script, Unparsed } from "./script.ts"
import { checkText } from "./strict-text.ts"

export type Parsed = { script: Script } | { unparsed: string }

const parseTimeoutMs = 500
const charactersMax = 32_768
const depthMax = 40

/**
 * Loads a function that parses a text as bash would. Where the grammar is known to differ from bash, or a construct is
 * not supported, the whole text is `unparsed`, with a reason.
 */
export async function loadParse(): Promise<(text: string) => Parsed> {
  const parser = await loadBashParser()
  return (text) => {
    try {
      return { script: readScript(parser, text, 0) }
    } catch (error) {
      if (error instanceof Unparsed) return { unparsed: error.message }
      throw error
    }
  }
}

function readScript(parser: Parser, text: string, depth: number): Script {
  if (depth > depthMax) throw new Unparsed("Commands are nested too deeply.")
  if (text.length > charactersMax) throw new Unparsed("The command has more than 32,768 characters.")
  checkText(text)
  const tree = parseWithin(parser, text, parseTimeoutMs)
  if (!tree) throw new Unparsed("Parsing it took too long.")
  try {
    if (tree.rootNode.hasError) throw new Unparsed("It is incomplete, or not bash.")
    return new Reader(text, (inner) => readScript(parser, inner, depth + 1)).program(tree.rootNode)
  } finally {
    tree.delete()
  }
}
