import { setImmediate } from "node:timers/promises"
import { type HtmlToken, htmlTokens } from "./html-tokens.ts"
import { MarkdownWriter, type Marker } from "./markdown-writer.ts"
import { lineNames, OpenElements, paragraphNames, voidNames } from "./open-elements.ts"
import { TableWriter } from "./table-writer.ts"

export interface HtmlOptions {
  /** Where the page is: links are made absolute. */
  base: URL
  /** Text only, without links and marks. */
  plain?: boolean
  signal?: AbortSignal
}

export interface HtmlPage {
  title: string
  text: string
}

/** How long the event loop may be held up at a time. */
const sliceMs = 10

/**
 * A page as people see it, as Markdown. Scripts, styles and whatever is marked as hidden are left out. Any text is taken,
 * also malformed and hostile one, in time in proportion to its length.
 */
export async function htmlToMarkdown(html: string, options: HtmlOptions): Promise<HtmlPage> {
  const page = new PageWriter(options)
  let sliceStart = performance.now()
  let count = 0
  for (const token of htmlTokens(html)) {
    page.take(token)
    if (page.full) break
    if (++count % 256 === 0 && performance.now() - sliceStart > sliceMs) {
      await setImmediate()
      options.signal?.throwIfAborted()
      sliceStart = performance.now()
    }
  }
  return page.finish()
}

const linkCharactersMax = 2_000

class PageWriter {
  #writer = new MarkdownWriter()
  #options: HtmlOptions
  #title: string | undefined
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

  take(token: HtmlToken): void {
    if (token.type === "text") this.#takeText(token.text)
    else if (token.type === "close") this.#takeClose(token.name)
    else this.#takeOpen(token.name, token.attributes)
  }

  finish(): HtmlPage {
    this.#open.endAll()
    return { title: this.#title ?? "", text: this.#writer.toString() }
  }

  #takeText(text: string): void {
    if (this.#open.areHidden) return
    if (this.#open.innermost === "title") this.#title ??= text.replace(/\s+/g, " ").trim()
    else if (this.#pre > 0) this.#takePreformatted(text)
    else this.#writer.text(this.#tables.inCell && !this.#options.plain ? text.replaceAll("|", "\\|") : text)
  }

  #takePreformatted(text: string): void {
    this.#writer.preformatted(this.#isPreStart ? text.replace(/^\r?\n/, "") : text)
    this.#isPreStart = false
  }

  #takeOpen(name: string, attributes: ReadonlyMap<string, string>): void {
    this.#open.endImplied(name)
    if (voidNames.has(name)) {
      if (!this.#open.areHidden) this.#takeVoid(name, attributes)
      return
    }
    const element = this.#open.push(name, attributes)
    if (!this.#open.areHidden) element.end = this.#begin(name, attributes)
  }

  #takeClose(name: string): void {
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

  /** Begins an element that is seen and gives what is to be done at its end. */
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
      default:
        return paragraphNames.has(name) || lineNames.has(name) ? after : undefined
    }
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
    const alt = (attributes.get("alt") ?? "").replace(/\s+/g, " ").trim()
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

  /** Inside something that must stay on one line. */
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
