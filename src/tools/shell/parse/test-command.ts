import type { Node } from "web-tree-sitter"
import { literalWord, type SimpleCommand, Unparsed, type Word } from "./script.ts"

const wordTypes =
  /^(?:word|number|string|raw_string|simple_expansion|expansion|concatenation|ansi_c_string|command_substitution|variable_name)$/

/** `-v` and `-R` evaluate an index in the name that they get, and so do number comparisons in `[[ ]]`. */
const evaluating = new Set(["-v", "-R"])
const numeric = new Set(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
const operators = new Set("! = == != -a -o && || ( ) < >".split(" "))

/** `[ ... ]` and `[[ ... ]]` as a command with the words between the brackets. */
export function readTest(node: Node, source: string, readWord: (node: Node) => Word): SimpleCommand {
  const open = node.children[0]!.type
  const leaves = node.children.slice(1, -1).flatMap(leavesOf)
  checkSpacing(node, leaves, source)
  const words = leaves.map((leaf): Word => {
    if (wordTypes.test(leaf.type)) return readWord(leaf)
    if (leaf.type === "test_operator" || operators.has(leaf.type)) return operator(leaf, open)
    if (leaf.type === "extglob_pattern" && /^[\w.*?/:-]+$/.test(leaf.text)) return literalWord(leaf.text)
    throw new Unparsed("A test has an unsupported form.")
  })
  if (open === "[[" && words.some((word) => numeric.has(word.source)) && !words.every(isPlain)) {
    throw new Unparsed("A comparison of numbers is computed.")
  }
  return { kind: "command", assignments: [], words: [literalWord(open), ...words], redirects: [] }
}

function isPlain(word: Word): boolean {
  return word.value !== undefined && /^(?:\d+|-[a-z]+|[!()&|]+)$/.test(word.value)
}

function leavesOf(node: Node): Node[] {
  const inner = /^(?:binary|unary|parenthesized)_expression$/.test(node.type)
  return inner ? node.children.flatMap(leavesOf) : [node]
}

function operator(leaf: Node, open: string): Word {
  const text = leaf.text
  if (evaluating.has(text)) throw new Unparsed(`${text} evaluates its argument.`)
  if (open === "[" && /[<>&|()]/.test(text))
    throw new Unparsed(`For bash, ${text} between [ and ] ends the command.`)
  return literalWord(text)
}

/** Each word must be separate, on one line. */
function checkSpacing(node: Node, leaves: Node[], source: string): void {
  const all = [node.children[0]!, ...leaves, node.children.at(-1)!]
  for (let i = 1; i < all.length; i++) {
    const gap = source.slice(all[i - 1]!.endIndex, all[i]!.startIndex)
    const glued = gap === "" && !/^[!()]$/.test(all[i - 1]!.text) && !/^[()]$/.test(all[i]!.text)
    if (!/^[ \t]*$/.test(gap) || glued || (i === 1 && gap === ""))
      throw new Unparsed("A test has an unsupported form.")
  }
}
