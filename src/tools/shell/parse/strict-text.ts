import type { Node } from "web-tree-sitter"
import { Unparsed } from "./script.ts"

/**
 * Refuses characters that the grammar treats as blanks and bash does not, and characters that a person would not see.
 */
export function checkText(text: string): void {
  if (!text.isWellFormed()) throw new Unparsed("It contains half a character.")
  const odd = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]|(?! )\p{Zs}/u.exec(text)
  if (!odd) return
  const code = odd[0].codePointAt(0)!.toString(16).padStart(4, "0")
  throw new Unparsed(`It contains the invisible character U+${code.toUpperCase()}.`)
}

/**
 * The text between two nodes must be blanks. A line may continue only after a blank; otherwise bash joins the words on
 * both sides of the line break.
 */
export function checkBlanks(gap: string, options: { newlines: boolean }): void {
  const rest = gap.replaceAll(/(?<=[ \t\n])\\\n/g, "")
  if (!(options.newlines ? /^[ \t\n]*$/ : /^[ \t]*$/).test(rest)) {
    throw new Unparsed("The text between two commands is not supported.")
  }
}

/** True if bash reads one word where the grammar reads two, because nothing is between them. */
export function needsBlank(left: Node, right: Node): boolean {
  const leftText = left.text
  const rightText = right.text
  const open = /[|&;()<>\n]$/.test(leftText) && !endsQuoted(left)
  const close = /^[|&;()<>\n]/.test(rightText) && right.type !== "process_substitution"
  return !open && !close
}

function endsQuoted(node: Node): boolean {
  return ["word", "concatenation", "command_substitution", "process_substitution"].includes(node.type)
}
