import { type HtmlReader, tokenizeHtml } from "./html-tokens.ts"
import { MarkdownWriter, type Marker } from "./markdown-writer.ts"
import { lineNames, OpenElements, paragraphNames, voidNames } from "./open-elements.ts"
import { TableWriter } from "./table-writer.ts"

export interface HtmlOptions {
  /** The URL of the page. Links are made absolute with it. */
  base: URL
  /** Plain text without links and Markdown markers. */
  plain?: boolean
  signal?: AbortSignal
}

export interface HtmlPage {
  title: string
  text: string
}

/**
 * The visible text of a page, as Markdown. Scripts, styles, comments and hidden elements are left out. Accepts malformed
 * and hostile pages: time and memory grow linearly with the length of `html`, and the event loop is not blocked.
 */
export async function htmlToMarkdown(html: string, options: HtmlOptions): Promise<HtmlPage> {
  const page = new PageWriter(options)
  await tokenizeHtml(html, { reader: page, signal: options.signal })
  return page.finish()
}

const linkCharactersMax = 2_000
const altCharactersMax = 4_000

class PageWriter implements HtmlReader {
  #writer = new MarkdownWriter()
  #options: HtmlOptions
  #title: string | undefined
  #titleText = ""
  #open = new OpenElements()
  #links = 0
  #headings = 0
  #code = 0
  #pre = 0
  #isPreStart = false
  #fence: Marker | undefined
  #lists: { next: number | undefined }[] = []
  #tables: TableWriter

  constructor(options: HtmlOptions) {
    this.#options = options
    this.#tables = new TableWriter(this.#writer, { plain: options.plain ?? false })
  }

  get full(): boolean {
    return this.#writer.full
  }

  finish(): HtmlPage {
    this.#open.endAll()
    return { title: this.#title ?? "", text: this.#writer.toString() }
  }

  readText(text: string): void {
    if (this.#open.areHidden) return
    if (this.#open.innermost === "title") this.#titleText += text
    else if (this.#pre > 0) this.#takePreformatted(text)
    else this.#writer.text(this.#tables.inCell && !this.#options.plain ? text.replaceAll("|", "\\|") : text)
  }

  #takePreformatted(text: string): void {
    this.#writer.preformatted(this.#isPreStart ? text.replace(/^\r?\n/, "") : text)
    this.#isPreStart = false
  }

  readStartTag(name: string, attributes: ReadonlyMap<string, string>): void {
    this.#open.endImplied(name)
    if (voidNames.has(name)) {
      if (!this.#open.areHidden) this.#takeVoid(name, attributes)
      return
    }
    const element = this.#open.push(name, attributes)
    if (!this.#open.areHidden) element.end = this.#begin(name, attributes)
  }

  readEndTag(name: string): void {
    const ended = this.#open.end(name)
    if (!ended && !this.#open.areHidden && (name === "p" || name === "br")) this.#breakFor(name)
  }

  #takeVoid(name: string, attributes: ReadonlyMap<string, string>): void {
    if (name === "br") this.#break(1)
    if (name === "hr") {
      this.#break(2)
      if (!this.#options.plain) this.#writer.text("---")
      this.#break(2)
    }
    if (name === "img") this.#image(attributes)
  }

  /** Writes the start of a visible element. Returns the function to call at its end. */
  #begin(name: string, attributes: ReadonlyMap<string, string>): (() => void) | undefined {
    this.#breakFor(name)
    const after = (): void => this.#breakFor(name)
    switch (name) {
      case "h1":
      case "h2":
      case "h3":
      case "h4":
      case "h5":
      case "h6":
        return this.#beginHeading(Number(name[1]))
      case "a":
        return this.#beginLink(attributes.get("href"))
      case "strong":
      case "b":
        return this.#mark("**")
      case "em":
      case "i":
        return this.#mark("*")
      case "code":
      case "kbd":
      case "samp":
        return this.#beginCode(attributes)
      case "pre":
        return this.#beginPre(attributes)
      case "ul":
      case "ol":
        return this.#beginList(
          name === "ol" ? Number.parseInt(attributes.get("start") ?? "1", 10) || 1 : undefined,
        )
      case "li":
        return this.#beginItem()
      case "blockquote":
        return this.#beginQuote()
      case "table":
        return this.#ending("table", this.#tables.begin())
      case "tr":
        return this.#ending("tr", this.#tables.beginRow())
      case "td":
      case "th":
        return this.#tables.beginCell()
      case "title":
        return () => this.#endTitle()
      default:
        return paragraphNames.has(name) || lineNames.has(name) ? after : undefined
    }
  }

  /** The first title counts. */
  #endTitle(): void {
    this.#title ??= this.#titleText.replace(/\s+/g, " ").trim()
    this.#titleText = ""
  }

  #ending(name: string, end: (() => void) | undefined): () => void {
    return () => {
      end?.()
      this.#breakFor(name)
    }
  }

  #mark(mark: string): (() => void) | undefined {
    if (this.#options.plain || this.#code > 0 || this.#pre > 0) return undefined
    const marker = this.#writer.open(mark)
    return () => this.#writer.close(marker, mark)
  }

  #beginHeading(level: number): () => void {
    const marker =
      this.#options.plain || this.#isFlat() ? undefined : this.#writer.open(`${"#".repeat(level)} `)
    this.#headings++
    return () => {
      this.#headings--
      if (marker) this.#writer.close(marker, "")
      this.#break(2)
    }
  }

  #beginLink(href: string | undefined): (() => void) | undefined {
    const target = this.#code > 0 || this.#pre > 0 || this.#options.plain ? undefined : this.#absolute(href)
    if (target === undefined) return undefined
    const marker = this.#writer.open("[")
    this.#links++
    return () => {
      this.#links--
      this.#writer.close(marker, `](${target})`)
    }
  }

  #image(attributes: ReadonlyMap<string, string>): void {
    const alt = (attributes.get("alt") ?? "").slice(0, altCharactersMax).replace(/\s+/g, " ").trim()
    if (alt === "" || this.#options.plain || this.#pre > 0) return
    const target = this.#absolute(attributes.get("src"))
    this.#writer.text(target === undefined ? alt : `![${alt}](${target})`)
  }

  #beginCode(attributes: ReadonlyMap<string, string>): (() => void) | undefined {
    if (this.#pre > 0) {
      if (this.#fence && !this.#fence.written && this.#fence.text === "```\n")
        this.#fence.text = fenceFor(attributes)
      return undefined
    }
    if (this.#options.plain || this.#code > 0) return undefined
    const marker = this.#writer.open("`")
    this.#code++
    return () => {
      this.#code--
      this.#writer.close(marker, "`")
    }
  }

  #beginPre(attributes: ReadonlyMap<string, string>): (() => void) | undefined {
    if (this.#pre > 0 || this.#isFlat()) return undefined
    this.#pre++
    this.#isPreStart = true
    const fence = this.#options.plain ? undefined : this.#writer.open(fenceFor(attributes))
    this.#fence = fence
    return () => {
      this.#pre--
      this.#fence = undefined
      this.#writer.endPreformatted()
      if (fence?.written) this.#writer.line("```")
      else if (fence) this.#writer.close(fence, "")
      this.#break(2)
    }
  }

  #beginList(first: number | undefined): () => void {
    this.#lists.push({ next: first })
    return () => {
      this.#lists.pop()
      this.#breakFor("ul")
    }
  }

  #beginItem(): () => void {
    const list = this.#lists.at(-1)
    const bullet = list?.next === undefined ? "- " : `${list.next++}. `
    if (this.#isFlat()) return () => this.#break(1)
    this.#writer.indent(" ".repeat(bullet.length), bullet)
    return () => {
      this.#writer.outdent()
      this.#break(1)
    }
  }

  #beginQuote(): () => void {
    this.#writer.indent(this.#options.plain ? "  " : "> ")
    return () => {
      this.#writer.outdent()
      this.#break(2)
    }
  }

  #breakFor(name: string): void {
    if (paragraphNames.has(name)) this.#break(this.#lists.length > 0 && name !== "pre" ? 1 : 2)
    else if (lineNames.has(name) || name === "br") this.#break(1)
  }

  #break(lines: number): void {
    if (this.#pre > 0) this.#writer.preformattedBreak()
    else if (this.#isFlat()) this.#writer.space()
    else this.#writer.break(lines)
  }

  /** True inside a link, heading or table cell: their Markdown must stay on one line. */
  #isFlat(): boolean {
    return this.#links > 0 || this.#headings > 0 || this.#tables.inCell
  }

  #absolute(href: string | undefined): string | undefined {
    if (href === undefined || href.startsWith("#") || href.length > linkCharactersMax) return undefined
    const url = URL.parse(href, this.#options.base.href)
    if (url === null || !["http:", "https:", "mailto:"].includes(url.protocol)) return undefined
    return url.href.length > linkCharactersMax
      ? undefined
      : url.href.replaceAll("(", "%28").replaceAll(")", "%29")
  }
}

function fenceFor(attributes: ReadonlyMap<string, string>): string {
  const language = /(?:^|\s)lang(?:uage)?-([\w+#-]{1,30})/.exec(attributes.get("class") ?? "")?.[1]
  return `\`\`\`${language ?? ""}\n`
}
