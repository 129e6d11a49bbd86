/** What a prompt refers to: a file or an agent by name, or a command whose output is meant. */
export interface Reference {
  type: "name" | "command"
  /** The name, or the command. */
  value: string
  /** As it stands in the text, and where, in UTF-16 units. */
  text: string
  start: number
  end: number
}

/** More than this nobody means; what is beyond stays text. */
const referencesMax = 100
const nameLengthMax = 400
const commandLengthMax = 10_000

const pattern = new RegExp(
  [
    // Code that was pasted refers to nothing here.
    "(?<fence>(?:^|\\n)[ \\t]*(?<mark>```|~~~)[^\\n]*\\n[\\s\\S]*?(?:\\n[ \\t]*\\k<mark>|$))",
    "!`(?<command>[^`\\n]+)`",
    "(?<code>`[^`\\n]*`)",
    "\\[\\[(?<linked>[^[\\]\\n]+)\\]\\]",
    "(?<![A-Za-z0-9_.+@/\\\\-])@(?<named>[\\p{L}\\p{N}_.~/][\\p{L}\\p{N}_.~/+@-]*)",
  ].join("|"),
  "gu",
)

/** The references of a text, in order: `[[name]]`, `@name` and `` !`command` ``, but none in code. */
export function referencesIn(text: string): Reference[] {
  const found: Reference[] = []
  for (const match of text.matchAll(pattern)) {
    const { command, linked, named } = match.groups!
    const start = match.index
    if (command !== undefined) found.push(reference("command", command.trim(), { text: match[0], start }))
    else if (linked !== undefined) found.push(reference("name", linked.trim(), { text: match[0], start }))
    else if (named !== undefined) {
      if (named.length > nameLengthMax) continue
      // What ends a sentence does not belong to the name.
      const name = named.replace(/(?<![.@+-])[.@+-]+$/, "")
      found.push(reference("name", name, { text: `@${name}`, start }))
    }
  }
  return found.filter(isSensible).slice(0, referencesMax)
}

function reference(
  type: Reference["type"],
  value: string,
  { text, start }: { text: string; start: number },
): Reference {
  return { type, value, text, start, end: start + text.length }
}

function isSensible({ type, value }: Reference): boolean {
  return value !== "" && value.length <= (type === "name" ? nameLengthMax : commandLengthMax)
}
