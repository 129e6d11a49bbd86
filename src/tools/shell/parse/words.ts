import type { Node } from "web-tree-sitter"
import { type Script, Unparsed, type Word } from "./script.ts"

/** One character of a word, or an expansion with an unknown value. */
type Atom =
  | { text: string; quoted: boolean }
  | { unknown: true; splits: Splits; pipe?: boolean; substitution?: Script }

/** Whether it may become several words: `always` even inside double quotes. */
type Splits = "never" | "bare" | "always"

/** Reads a substitution inside a word as a script. */
export type ReadSubstitution = (node: Node) => Script

/**
 * The value that bash gives a word. It is read from the text itself: the tree only says where its pieces begin and end.
 */
export function readWord(node: Node, readSubstitution: ReadSubstitution): Word {
  return toWord(node.text, atomsOf(node, readSubstitution))
}

function atomsOf(node: Node, read: ReadSubstitution): Atom[] {
  switch (node.type) {
    case "word":
    case "extglob_pattern":
      return bareAtoms(node.text)
    case "number":
      if (node.childCount > 0) throw new Unparsed("A number contains an expansion.")
      return bareAtoms(node.text)
    case "$":
      return [{ text: "$", quoted: true }]
    case "raw_string":
      if (!/^'[^']*'$/.test(node.text)) throw new Unparsed("A quotation is not closed.")
      return quoted(node.text.slice(1, -1))
    case "ansi_c_string":
      return ansiAtoms(node.text)
    case "string":
      return stringAtoms(node, read)
    case "simple_expansion":
      checkSimpleExpansion(node.text)
      return [{ unknown: true, splits: node.text === "$@" ? "always" : "bare" }]
    case "expansion":
      checkExpansion(node.text)
      return [{ unknown: true, splits: node.text.includes("@") ? "always" : "bare" }]
    case "arithmetic_expansion":
      checkArithmetic(node.text)
      return [{ unknown: true, splits: "never" }]
    case "command_substitution":
      return [{ unknown: true, splits: "bare", substitution: read(node) }]
    case "process_substitution":
      return [{ unknown: true, splits: "never", pipe: true, substitution: read(node) }]
    case "brace_expression":
      return [{ unknown: true, splits: "bare" }]
    case "concatenation":
      return concatenated(node, read)
    default:
      throw new Unparsed(`A ${node.type.replaceAll("_", " ")} stands where a word was expected.`)
  }
}

function concatenated(node: Node, read: ReadSubstitution): Atom[] {
  let at = node.startIndex
  const atoms = node.children.flatMap((child) => {
    if (child.startIndex !== at) throw new Unparsed("A word has a gap inside.")
    at = child.endIndex
    return atomsOf(child, read)
  })
  if (at !== node.endIndex) throw new Unparsed("A word has a gap inside.")
  return atoms
}

function quoted(text: string): Atom[] {
  return [...text].map((character) => ({ text: character, quoted: true }))
}

/** Unquoted text: a backslash quotes the next character. */
function bareAtoms(text: string): Atom[] {
  const atoms: Atom[] = []
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    if (character === "\\") {
      const next = text[++i]
      if (next === undefined || next === "\n") throw new Unparsed("A line continues inside a word.")
      atoms.push({ text: next, quoted: true })
    } else if (/[\s'"<>()`$|&;]/.test(character)) {
      throw new Unparsed(`An unquoted ${JSON.stringify(character)} is inside a word.`)
    } else atoms.push({ text: character, quoted: false })
  }
  return atoms
}

const ansiEscapes: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "?": "?",
}

function ansiAtoms(text: string): Atom[] {
  // After an escaped backslash, the grammar ends such a string elsewhere than bash.
  if (!/^\$'(?:[^'\\]|\\.)*'$/s.test(text)) throw new Unparsed("A $'...' string ends elsewhere for bash.")
  const body = text.slice(2, -1)
  const escapes =
    /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([ntrabeEfv\\'"?]))|\\|[^\\]+/gs
  const atoms: Atom[] = []
  for (const [whole, octal, hex, short, long, letter] of body.matchAll(escapes)) {
    if (whole === "\\") throw new Unparsed("An escape in $'...' is unknown.")
    const code =
      octal === undefined ? Number.parseInt(hex ?? short ?? long ?? "", 16) : Number.parseInt(octal, 8)
    if (letter !== undefined) atoms.push(...quoted(ansiEscapes[letter]!))
    else if (Number.isNaN(code)) atoms.push(...quoted(whole))
    else if (code === 0 || code > 0x7e) throw new Unparsed("A byte in $'...' is outside ASCII.")
    else atoms.push(...quoted(String.fromCharCode(code)))
  }
  return atoms
}

/** Reads `"..."` from quotation mark to quotation mark, with the tree's substitutions at their offsets. */
function stringAtoms(node: Node, read: ReadSubstitution): Atom[] {
  const text = node.text
  const inside = new Map(
    node.children
      .filter((child) => child.type.endsWith("expansion") || child.type === "command_substitution")
      .map((child) => [child.startIndex - node.startIndex, child] as const),
  )
  if (text[0] !== '"' || text.length < 2) throw new Unparsed("A quotation is not closed.")
  const atoms: Atom[] = []
  let i = 1
  while (i < text.length - 1) {
    const child = inside.get(i)
    if (child) {
      atoms.push(...atomsOf(child, read).map(unsplit))
      i = child.endIndex - node.startIndex
      continue
    }
    const character = text[i]!
    if (character === "\\") {
      const next = text[i + 1]!
      if (i + 1 >= text.length - 1) throw new Unparsed("A quotation is not closed.")
      if (next !== "\n") atoms.push(...quoted('$`"\\'.includes(next) ? next : `\\${next}`))
      i += 2
    } else if (character === '"' || character === "`") {
      throw new Unparsed("A quotation ends elsewhere for bash.")
    } else {
      if (character === "$" && !/^[\s.,/:;%^&|)]|^$/.test(text.slice(i + 1, -1).slice(0, 1))) {
        throw new Unparsed("A $ in quotes is not supported.")
      }
      atoms.push({ text: character, quoted: true })
      i++
    }
  }
  if (i !== text.length - 1 || text[i] !== '"') throw new Unparsed("A quotation is not closed.")
  return atoms
}

/** Inside double quotes nothing is split, except `$@` and `${a[@]}`. */
function unsplit(atom: Atom): Atom {
  return "unknown" in atom && atom.splits === "bare" ? { ...atom, splits: "never" } : atom
}

function checkSimpleExpansion(text: string): void {
  if (!/^\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!_-])$/.test(text))
    throw new Unparsed("A $ expansion is not supported.")
}

/** Only forms in which nothing else is evaluated: no `${!x}`, no `${x@P}`, no `${x:=y}`, no computed index. */
function checkExpansion(text: string): void {
  const name = String.raw`(?:[A-Za-z_][A-Za-z0-9_]*(?:\[(?:[0-9]+|[@*])\])?|[0-9@*#?])`
  const plain = `[A-Za-z0-9_.,:/*?=+ -]*`
  const forms = [
    String.raw`\$\{#?${name}\}`,
    String.raw`\$\{${name}:?[-+]${plain}\}`,
    String.raw`\$\{${name}(?:%%?|##?|//?|,,?|\^\^?)${plain}\}`,
    String.raw`\$\{${name}:[0-9]+(?::[0-9]+)?\}`,
  ]
  if (!forms.some((form) => new RegExp(`^${form}$`).test(text))) {
    throw new Unparsed(`The expansion ${text} is not supported.`)
  }
}

/** Arithmetic evaluates the text of a variable again, with the substitutions in it, so only numbers are allowed. */
export function checkArithmetic(text: string): void {
  const body = /^\$?\(\((.*)\)\)$/s.exec(text)?.[1]
  if (body === undefined || !/^[0-9\s+*/%()<>=!&|^~?:,-]*$/.test(body)) {
    throw new Unparsed("Arithmetic contains more than numbers.")
  }
}

function toWord(source: string, atoms: Atom[]): Word {
  const substitutions = atoms.flatMap((atom) =>
    "unknown" in atom && atom.substitution ? [atom.substitution] : [],
  )
  const firstUnknown = atoms.findIndex((atom) => "unknown" in atom || startsExpansion(atom))
  const prefix = textOf(firstUnknown < 0 ? atoms : atoms.slice(0, firstUnknown))
  const word: Word = { source, prefix, splits: false, substitutions }
  if (atoms.some((atom) => "unknown" in atom)) {
    word.splits = atoms.some((atom) => ("unknown" in atom ? atom.splits !== "never" : startsExpansion(atom)))
    if (atoms.length === 1 && "unknown" in atoms[0]! && atoms[0].pipe) word.pipe = true
    return word
  }
  const bare = atoms.map((atom) => ("unknown" in atom || atom.quoted ? "\0" : atom.text)).join("")
  if (/\{.*(?:,|\.\.).*\}/s.test(bare) || /[=:]~/.test(bare)) return { ...word, splits: true }
  const text = textOf(atoms)
  const home = bare.startsWith("~")
  if (home && !/^~(?:$|\/)/.test(bare)) return { ...word, prefix: "", splits: true }
  if (/[*?[]/.test(bare)) {
    const glob = atoms.map((atom) => ("unknown" in atom ? "" : escapeGlob(atom))).join("")
    return { ...word, splits: true, glob, ...(home ? { home, prefix: "/" } : {}) }
  }
  return home ? { ...word, home, value: text.slice(1), prefix: "/" } : { ...word, value: text, prefix: text }
}

function startsExpansion(atom: Atom): boolean {
  return !("unknown" in atom) && !atom.quoted && "*?[{~".includes(atom.text)
}

function textOf(atoms: Atom[]): string {
  return atoms.map((atom) => ("unknown" in atom ? "" : atom.text)).join("")
}

function escapeGlob(atom: { text: string; quoted: boolean }): string {
  return atom.quoted && /[*?[\]\\]/.test(atom.text) ? `\\${atom.text}` : atom.text
}
