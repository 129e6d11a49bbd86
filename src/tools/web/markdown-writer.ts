/** Markup such as `**` that is written right before the next text, and not at all if no text follows. */
export interface Marker {
  text: string
  written: boolean
}

const charactersMax = 5_000_000
const prefixesMax = 12

/** Writes Markdown in one pass. Spaces and line breaks are kept pending until the next text, so they never pile up. */
export class MarkdownWriter {
  #chunks: string[] = []
  #length = 0
  #breaks = 0
  #space = false
  #markers: Marker[] = []
  #prefixes: string[] = []
  /** How many `indent` calls came after `prefixesMax` was reached. */
  #deeper = 0
  #bullet: string | undefined
  #heldNewlines = 0

  /** True once the text has reached its maximum length. */
  get full(): boolean {
    return this.#length >= charactersMax
  }

  /** Writes text and collapses white space to one space. */
  text(text: string): void {
    const collapsed = text.replace(/[ \t\n\r\f\u00a0]+/g, " ")
    if (collapsed.startsWith(" ")) this.#space = true
    const words = collapsed.trim()
    if (words === "") return
    this.#begin()
    this.#push(words)
    this.#space = collapsed.endsWith(" ")
  }

  /** Writes text with its white space. */
  preformatted(text: string): void {
    const lines = text.replace(/\r\n?/g, "\n")
    const end = withoutNewlinesAtEnd(lines)
    const held = this.#heldNewlines
    this.#heldNewlines = lines.length - end + (end === 0 ? held : 0)
    if (end === 0) return
    this.#begin()
    const body = "\n".repeat(held) + lines.slice(0, end)
    this.#push(body.replaceAll("\n", `\n${this.#prefixes.join("")}`))
  }

  /** Ends preformatted text and drops its last line breaks. */
  endPreformatted(): void {
    this.#heldNewlines = 0
  }

  /** Puts at least this many line breaks before the next text. */
  break(lines: number): void {
    if (this.#bullet === undefined) this.#breaks = Math.max(this.#breaks, lines)
  }

  /** Puts a space before the next text. */
  space(): void {
    this.#space = true
  }

  noSpace(): void {
    this.#space = false
  }

  /** Puts a line break into preformatted text, unless one is pending. */
  preformattedBreak(): void {
    this.#heldNewlines = Math.max(this.#heldNewlines, 1)
  }

  open(text: string): Marker {
    const marker = { text, written: false }
    this.#markers.push(marker)
    return marker
  }

  /** Writes the closing text of a marker. A marker that was never written is dropped instead. */
  close(marker: Marker, text: string): void {
    if (marker.written) this.#push(text)
    else if (this.#markers.at(-1) === marker) this.#markers.pop()
    else marker.text = ""
  }

  /** Writes the pending markers although no text follows. */
  flush(): void {
    this.#begin()
  }

  /** Starts every following line with `prefix`. The first line starts with `bullet` instead. */
  indent(prefix: string, bullet?: string): void {
    if (this.#prefixes.length < prefixesMax) this.#prefixes.push(prefix)
    else this.#deeper++
    if (bullet !== undefined) this.#bullet = bullet
  }

  outdent(): void {
    if (this.#deeper > 0) this.#deeper--
    else this.#prefixes.pop()
    this.#bullet = undefined
  }

  /** Writes a separate line with the current prefixes. */
  line(text: string): void {
    this.#push(`\n${this.#prefixes.join("")}${text}`)
  }

  toString(): string {
    const cut = this.full ? "\n\n(The page is longer and was cut here.)" : ""
    return this.#chunks.join("").trimEnd() + cut
  }

  #begin(): void {
    const isFirst = this.#chunks.length === 0
    if (this.#breaks > 0 || isFirst) {
      if (!isFirst) this.#push("\n".repeat(this.#breaks))
      const bullet = this.#bullet
      this.#push(
        bullet === undefined ? this.#prefixes.join("") : this.#prefixes.slice(0, -1).join("") + bullet,
      )
      this.#bullet = undefined
    } else if (this.#space) this.#push(" ")
    this.#breaks = 0
    this.#space = false
    for (const marker of this.#markers) {
      this.#push(marker.text.replace("\n", `\n${this.#prefixes.join("")}`))
      marker.written = true
    }
    this.#markers = []
  }

  #push(text: string): void {
    if (text === "" && this.#chunks.length > 0) return
    this.#chunks.push(text)
    this.#length += text.length
  }
}

/** The length of the text without its final line breaks. */
function withoutNewlinesAtEnd(text: string): number {
  let end = text.length
  while (end > 0 && text[end - 1] === "\n") end--
  return end
}
