import { jsonDepthMax } from "../../protocol/index.ts"

/** Every level of YAML has at least one of these characters. */
const indicator = /[[{:?-]/g

/**
 * The offset at which YAML is nested deeper than `jsonDepthMax`; undefined if it is not. The parser builds no values.
 */
export async function findDeepYaml(text: string): Promise<number | undefined> {
  if ((text.match(indicator)?.length ?? 0) <= jsonDepthMax) return undefined
  const { Lexer, Parser } = await import("yaml")
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme));
    // The document itself and the value that is being read are in the stack too.
    if (parser.stack.length > jsonDepthMax + 2) return parser.offset
  }
  return undefined
}
