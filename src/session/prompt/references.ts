/** A reference in a prompt: to a file or an agent by name, or to the output of a command. */
export interface Reference {
  type: "name" | "command"
  /** The name, or the command. */
  value: string
  /** The reference as written, and its span in UTF-16 units. */
  text: string
  start: number
  end: number
}

/** Limits beyond what a person writes. References beyond them stay text. */
const referencesMax = 100
const nameLengthMax = 400
const commandLengthMax = 10_000

const pattern = new RegExp(
  [
    // Fenced code is matched first, so that references inside it are ignored.
    "(?<fence>(?:^|\\n)[ \\t]*(?<mark>```|~~~)[^\\n]*\\n[\\s\\S]*?(?:\\n[ \\t]*\\k<mark>|$))",
    "!`(?<command>[^`\\n]+)`",
    "(?<code>`[^`\\n]*`)",
    "\\[\\[(?<linked>[^[\\]\\n]+)\\]\\]",
    "(?<![A-Za-z0-9_.+@/\\\\-])@(?<named>[\\p{L}\\p{N}_.~/][\\p{L}\\p{N}_.~/+@-]*)",
  ].join("|"),
  "gu",
)

/** The references in a text, in order: `[[name]]`, `@name` and `` !`command` ``. References inside code are ignored. */
export function referencesIn(text: string): Reference[] {
  const found: Reference[] = []
  for (const match of text.matchAll(pattern)) {
    const { command, linked, named } = match.groups!
    const start = match.index
    if (command !== undefined) found.push(reference("command", command.trim(), { text: match[0], start }))
    else if (linked !== undefined) found.push(reference("name", linked.trim(), { text: match[0], start }))
    else if (named !== undefined) {
      if (named.length > nameLengthMax) continue
      // Punctuation that ends a sentence is not part of the name.
      const name = named.replace(/(?<![.@+-])[.@+-]+$/, "")
      found.push(reference("name", name, { text: `@${name}`, start }))
    }
  }
  return found.filter(hasAllowedLength).slice(0, referencesMax)
}

function reference(
  type: Reference["type"],
  value: string,
  { text, start }: { text: string; start: number },
): Reference {
  return { type, value, text, start, end: start + text.length }
}

function hasAllowedLength({ type, value }: Reference): boolean {
  return value !== "" && value.length <= (type === "name" ? nameLengthMax : commandLengthMax)
}
