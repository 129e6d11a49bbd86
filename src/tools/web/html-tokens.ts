import { setImmediate } from "node:timers/promises"

/** Receives the tags and texts of a page in document order. */
export interface HtmlReader {
  /** True if the reader needs no more of the page. */
  readonly full: boolean
  /** A long text comes in several calls. */
  readText(text: string): void
  /** `attributes` holds only the attributes named in `attributeNames`. */
  readStartTag(name: string, attributes: ReadonlyMap<string, string>): void
  readEndTag(name: string): void
}

/** Filtering by name keeps a tag with thousands of attributes cheap and still finds `hidden` at the end of them. */
const attributeNames = ["alt", "class", "hidden", "href", "src", "start", "style"]

/** The content of these elements ends at their own end tag, whatever tags and comments are in it. */
const rawTextNames = ["iframe", "noembed", "noframes", "noscript", "style", "xmp"]

const chunkCharacters = 16 * 1024
/** How long the event loop may be blocked at a time. */
const sliceMs = 10

/**
 * Splits a page into tags and texts as browsers do, however malformed the page is. Comments are dropped. Uses only the
 * tokenizer of parse5: its time and memory grow linearly with the page. Its tree builder needs 21 s and 1.4 GB for a page
 * of 37 KB that leaves 1,500 different `<b id=...>` open before 2,300 paragraphs.
 */
export async function tokenizeHtml(
  html: string,
  { reader, signal }: { reader: HtmlReader; signal?: AbortSignal },
): Promise<void> {
  const { Tokenizer, TokenizerMode } = await import("parse5")
  let text = ""
  const addText = ({ chars }: { chars: string }): void => {
    text += chars
  }
  const flushText = (): void => {
    if (text !== "") reader.readText(text)
    text = ""
  }
  const tokenizer = new Tokenizer(
    {},
    {
      onComment() {},
      onDoctype() {},
      onNullCharacter() {},
      onCharacter: addText,
      onWhitespaceCharacter: addText,
      onEof() {},
      onStartTag({ tagName: name, attrs }) {
        flushText()
        const kept = attrs.filter((attribute) => attributeNames.includes(attribute.name))
        reader.readStartTag(name, new Map(kept.map((attribute) => [attribute.name, attribute.value])))
        if (reader.full) tokenizer.pause()
        if (name === "script") tokenizer.state = TokenizerMode.SCRIPT_DATA
        else if (name === "plaintext") tokenizer.state = TokenizerMode.PLAINTEXT
        else if (name === "title" || name === "textarea") tokenizer.state = TokenizerMode.RCDATA
        else if (rawTextNames.includes(name)) tokenizer.state = TokenizerMode.RAWTEXT
      },
      onEndTag({ tagName }) {
        flushText()
        reader.readEndTag(tagName)
        if (reader.full) tokenizer.pause()
      },
    },
  )
  let sliceStart = performance.now()
  for (let start = 0; !reader.full && start < html.length; start += chunkCharacters) {
    const end = start + chunkCharacters
    tokenizer.write(html.slice(start, end), end >= html.length)
    flushText()
    if (performance.now() - sliceStart <= sliceMs) continue
    await setImmediate()
    signal?.throwIfAborted()
    sliceStart = performance.now()
  }
}
