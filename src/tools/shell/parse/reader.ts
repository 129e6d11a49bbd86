import type { Node } from "web-tree-sitter"
import { readCase, readFor, readFunction, readIf, readWhile } from "./compound.ts"
import { readRedirect, readRedirected, type StatementReader } from "./redirects.ts"
import {
  type Assignment,
  type Script,
  type SimpleCommand,
  type Statement,
  Unparsed,
  type Word,
} from "./script.ts"
import { checkBlanks } from "./strict-text.ts"
import { readTest } from "./test-command.ts"
import { TreeText } from "./tree-text.ts"
import { checkArithmetic, readWord } from "./words.ts"

const wordTypes = new Set([
  "word",
  "number",
  "string",
  "raw_string",
  "ansi_c_string",
  "concatenation",
  "expansion",
  "simple_expansion",
  "command_substitution",
  "process_substitution",
  "arithmetic_expansion",
  "brace_expression",
  "$",
])

/** Words that bash treats as syntax at the start of a command, and that the grammar does not. */
const reserved = new Set(
  "if then else elif fi for while until do done case esac select function coproc in { } ! [[ ]]".split(" "),
)

/** A list of commands is nested as deeply as it is long. */
const depthMax = 200

/** Reads statements from a tree; throws `Unparsed` for constructs that it does not support. */
export class Reader extends TreeText implements StatementReader {
  private readonly readText: (text: string) => Script
  private depth = 0

  constructor(source: string, readText: (text: string) => Script) {
    super(source)
    this.readText = readText
  }

  program(root: Node): Script {
    checkBlanks(this.source.slice(0, root.startIndex), { newlines: true })
    checkBlanks(this.source.slice(root.endIndex), { newlines: true })
    return this.statements(this.childrenOf(root, { newlines: true }))
  }

  /** Statements with their terminators. */
  statements(nodes: Node[]): Statement[] {
    const statements: Statement[] = []
    let last: Node | undefined
    for (const node of nodes) {
      if (/^(?:;|;;|&|\n+)$/.test(node.type)) {
        if (node.type === "&" && last) statements.push({ kind: "isolated", bodies: [statements.pop()!] })
        last = undefined
        continue
      }
      if (last && !this.source.slice(last.endIndex, node.startIndex).includes("\n") && !endsLine(last)) {
        throw new Unparsed("Two commands have no separator between them.")
      }
      statements.push(this.statement(node))
      last = node
    }
    return statements
  }

  statement(node: Node): Statement {
    if (this.depth >= depthMax) throw new Unparsed("Commands are nested too deeply.")
    this.depth++
    try {
      return this.read(node)
    } finally {
      this.depth--
    }
  }

  private read(node: Node): Statement {
    switch (node.type) {
      case "command":
        return this.command(node)
      case "declaration_command":
      case "unset_command":
        return this.declaration(node)
      case "variable_assignment":
        return { kind: "command", assignments: [this.assignment(node)], words: [], redirects: [] }
      case "variable_assignments":
        return {
          kind: "command",
          assignments: this.childrenOf(node, { newlines: false }).map((child) => this.assignment(child)),
          words: [],
          redirects: [],
        }
      case "redirected_statement":
        return readRedirected(node, this)
      case "list":
        return this.list(node)
      case "pipeline":
        return this.pipeline(node)
      case "negated_command":
        return { kind: "not", body: this.statement(this.parts(node, ["!"])[0]!) }
      case "subshell":
        return { kind: "isolated", bodies: [this.body(node, ["(", ")"])] }
      case "compound_statement":
        return this.compound(node)
      case "test_command":
        return readTest(node, this.source, (word) => this.word(word))
      case "if_statement":
        return readIf(node, this)
      case "while_statement":
        return readWhile(node, this)
      case "for_statement":
        return readFor(node, this)
      case "case_statement":
        return readCase(node, this)
      case "function_definition":
        return readFunction(node, this)
      default:
        throw new Unparsed(`The syntax "${node.type.replaceAll("_", " ")}" is not supported.`)
    }
  }

  body(node: Node, tokens: string[]): Statement {
    return { kind: "sequence", items: this.statements(this.parts(node, tokens)) }
  }

  private command(node: Node): SimpleCommand {
    const command: SimpleCommand = { kind: "command", assignments: [], words: [], redirects: [] }
    for (const child of this.childrenOf(node, { newlines: false })) {
      if (child.type === "variable_assignment") command.assignments.push(this.assignment(child))
      else if (child.type.endsWith("_redirect")) readRedirect(child, { command, reader: this })
      else if (child.type === "command_name") {
        if (reserved.has(child.text))
          throw new Unparsed(`The reserved word ${child.text} stands where a command begins.`)
        command.words.push(this.word(child.children[0] ?? child))
      } else command.words.push(this.word(child))
    }
    return command
  }

  private declaration(node: Node): SimpleCommand {
    const [name, ...rest] = this.childrenOf(node, { newlines: false })
    const words: Word[] = [
      { source: name!.text, value: name!.text, prefix: name!.text, splits: false, substitutions: [] },
    ]
    for (const child of rest) {
      if (child.type === "variable_assignment") {
        words.push(this.declared(child))
      } else if (child.type === "variable_name") {
        if (!/^\w+$/.test(child.text)) throw new Unparsed("A variable name has an unsupported form.")
        words.push({
          source: child.text,
          value: child.text,
          prefix: child.text,
          splits: false,
          substitutions: [],
        })
      } else words.push(this.word(child))
    }
    return { kind: "command", assignments: [], words, redirects: [] }
  }

  /** `name=value` after a word such as `declare`. */
  private declared(node: Node): Word {
    const { source, substitutions, name } = this.assignment(node)
    const value = node.children[2]
    const list = value?.type === "array"
    const word = value === undefined || value.text === "" || list ? undefined : this.word(value)
    const text = value === undefined || value.text === "" ? "" : word?.home ? undefined : word?.value
    return {
      source,
      text: source,
      prefix: `${name}=${text ?? word?.prefix ?? ""}`,
      splits: false,
      substitutions,
      ...(text === undefined ? {} : { value: `${name}=${text}` }),
      ...(list ? { list } : {}),
    }
  }

  word(node: Node): Word {
    if (!wordTypes.has(node.type))
      throw new Unparsed(`A ${node.type.replaceAll("_", " ")} stands where a word was expected.`)
    if (node.text.startsWith("#")) throw new Unparsed("For bash, a # begins a comment here.")
    if (/^\d+$/.test(node.text) && /[<>]/.test(this.source[node.endIndex] ?? "")) {
      throw new Unparsed("Bash takes a number for a file descriptor.")
    }
    if (/^\{\w+\}$/.test(node.text) && /[<>]/.test(this.source[node.endIndex] ?? "")) {
      throw new Unparsed("A variable is set to a file descriptor.")
    }
    return readWord(node, (substitution) => this.substitution(substitution))
  }

  private substitution(node: Node): Script {
    if (node.text.startsWith("`")) {
      const inner = node.text.slice(1, -1)
      // Bash removes backslashes before it parses the text between backquotes, and a comment ends at the second
      // backquote.
      if (/[\\#`]|<</.test(inner) || !node.text.endsWith("`"))
        throw new Unparsed("Backquotes have unsupported content.")
      return this.readText(inner)
    }
    if (!/^(?:\$|<|>)\(/.test(node.text)) throw new Unparsed("A substitution has an unsupported form.")
    if (node.text.startsWith("$((")) throw new Unparsed("Bash takes a substitution for arithmetic.")
    const parts = this.parts(node, ["$(", "<(", ">(", ")"])
    const only = parts[0]
    if (parts.length === 1 && only?.type === "file_redirect") {
      const command: SimpleCommand = { kind: "command", assignments: [], words: [], redirects: [] }
      readRedirect(only, { command, reader: this })
      return [command]
    }
    return this.statements(parts)
  }

  private assignment(node: Node): Assignment {
    const children = node.children
    if (node.type !== "variable_assignment" || children.length < 2)
      throw new Unparsed("An assignment has an unsupported form.")
    const [name, operator, ...values] = children
    if (!/^[A-Za-z_]\w*(?:\[\d+\])?$/.test(name!.text)) throw new Unparsed("An array index is computed.")
    const adjacent =
      name!.endIndex === operator!.startIndex &&
      (values[0]?.startIndex ?? operator!.endIndex) === operator!.endIndex
    if (!adjacent || values.length > 1) throw new Unparsed("An assignment has an unsupported form.")
    const value = values[0]
    const words =
      value === undefined || value.text === ""
        ? []
        : value.type === "array"
          ? this.array(value)
          : [this.word(value)]
    return {
      name: name!.text.replace(/\[.*/, ""),
      source: node.text,
      substitutions: words.flatMap((word) => word.substitutions),
    }
  }

  private array(node: Node): Word[] {
    return this.parts(node, ["(", ")"]).map((child) => {
      if (child.text.startsWith("[")) throw new Unparsed("An array index is computed.")
      return this.word(child)
    })
  }

  private list(node: Node): Statement {
    const [left, operator, right, ...more] = this.childrenOf(node, { newlines: true })
    if (!left || !right || more.length > 0) throw new Unparsed("A list has an unsupported form.")
    if (operator?.type !== "&&" && operator?.type !== "||")
      throw new Unparsed("A list has an unsupported form.")
    return {
      kind: operator.type === "&&" ? "and" : "or",
      left: this.statement(left),
      right: this.statement(right),
    }
  }

  private pipeline(node: Node): Statement {
    return { kind: "isolated", bodies: this.parts(node, ["|", "|&"]).map((child) => this.statement(child)) }
  }

  private compound(node: Node): Statement {
    if (node.text.startsWith("((")) {
      checkArithmetic(node.text)
      return { kind: "sequence", items: [] }
    }
    return this.body(node, ["{", "}"])
  }
}

/** The tree of a heredoc ends after its last line. */
function endsLine(node: Node): boolean {
  return node.descendantsOfType("heredoc_end").some((end) => end?.endIndex === node.endIndex)
}
