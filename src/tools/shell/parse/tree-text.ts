import type { Node } from "web-tree-sitter"
import { Unparsed } from "./script.ts"
import { checkBlanks, needsBlank } from "./strict-text.ts"

/** The tree of a text together with the text: the tree is used only where the text confirms it. */
export class TreeText {
  readonly source: string

  constructor(source: string) {
    this.source = source
  }

  /** The children of a node, after a check that only blanks are between them. */
  childrenOf(node: Node, options: { newlines: boolean }): Node[] {
    let previous: Node | undefined
    let at = node.startIndex
    for (const child of node.children) {
      const gap = this.source.slice(at, child.startIndex)
      checkBlanks(gap, options)
      if (previous && gap === "" && needsBlank(previous, child))
        throw new Unparsed("Bash would join two words.")
      at = child.endIndex
      previous = child
    }
    checkBlanks(this.source.slice(at, node.endIndex), { newlines: true })
    return node.children.filter((child) => {
      if (child.isMissing || child.isError) throw new Unparsed("It is incomplete, or not bash.")
      if (child.type === "comment") this.checkComment(child)
      return child.type !== "comment"
    })
  }

  private checkComment(node: Node): void {
    const before = this.source[node.startIndex - 1]
    if (before !== undefined && !/[\s;&|()]/.test(before)) throw new Unparsed("A # is inside a word.")
  }

  /** The children without the tokens of the construct itself. */
  parts(node: Node, tokens: string[], options = { newlines: true }): Node[] {
    return this.childrenOf(node, options).filter((child) => {
      if (child.isNamed || !tokens.includes(child.type)) return true
      this.checkToken(child)
      return false
    })
  }

  /** For bash, a keyword must be a separate word. */
  checkToken(node: Node): void {
    if (!/^(?:[a-z]+|[{}!])$/.test(node.type)) return
    const before = this.source[node.startIndex - 1]
    const after = this.source[node.endIndex]
    const alone =
      (before === undefined || /[\s;&|()]/.test(before)) && (after === undefined || /[\s;&|()<>]/.test(after))
    if (!alone) throw new Unparsed(`The keyword ${node.type} is not a separate word.`)
  }
}
