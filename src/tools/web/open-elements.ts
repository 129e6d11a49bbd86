export interface OpenElement {
  name: string
  hidden: boolean
  /** Called when the element ends. The end of the page ends all open elements. */
  end?: () => void
}

export const voidNames = new Set(
  "area base br col embed hr img input link meta param source track wbr".split(" "),
)
const droppedNames = new Set(
  "script style noscript template svg canvas iframe object noembed noframes audio video datalist textarea".split(
    " ",
  ),
)
export const paragraphNames = new Set(
  "p table pre blockquote ul ol dl figure hr h1 h2 h3 h4 h5 h6".split(" "),
)
export const lineNames = new Set(
  "div section article aside header footer main nav address form fieldset details summary li dt dd tr caption figcaption option body".split(
    " ",
  ),
)
/** Start tags that end an open element (`ends`). The search stops at the elements in `within`. */
const impliedEnds: Record<string, { ends: string[]; within: string[] }> = {
  li: { ends: ["li"], within: ["ul", "ol"] },
  dt: { ends: ["dt", "dd"], within: ["dl"] },
  dd: { ends: ["dt", "dd"], within: ["dl"] },
  tr: { ends: ["tr"], within: ["table"] },
  td: { ends: ["td", "th"], within: ["table", "tr"] },
  th: { ends: ["td", "th"], within: ["table", "tr"] },
  option: { ends: ["option"], within: ["select"] },
  a: { ends: ["a"], within: ["td", "li"] },
}
const tableNames = new Set("table caption colgroup thead tbody tfoot tr td th template object".split(" "))
const cellNames = ["td", "th", "caption", "template", "object"]
const headingNames = ["h1", "h2", "h3", "h4", "h5", "h6"]
/** Start tags that end an open link or heading: many pages leave out the end tag. */
const endsInline = new Set("ul ol li table tr td th hr pre blockquote".split(" "))
/** How many open elements a search looks at, so that deep nesting stays cheap. */
const searchMax = 64

/** The stack of open elements, innermost last. */
export class OpenElements {
  #open: OpenElement[] = []
  #counts = new Map<string, number>()
  #hidden = 0

  /** True if the current content is invisible in a browser. */
  get areHidden(): boolean {
    return this.#hidden > 0
  }

  get innermost(): string | undefined {
    return this.#open.at(-1)?.name
  }

  push(name: string, attributes: ReadonlyMap<string, string>): OpenElement {
    const element: OpenElement = { name, hidden: droppedNames.has(name) || isHidden(name, attributes) }
    if (element.hidden) this.#hidden++
    this.#open.push(element)
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    return element
  }

  /**
   * Ends the innermost element of that name and everything inside it; false if no such element is open. As in browsers, an
   * end tag inside a table cell ends nothing outside the cell: a hidden element around the table stays hidden.
   */
  end(name: string): boolean {
    return this.#endNearest([name], tableNames.has(name) ? [] : cellNames)
  }

  endAll(): void {
    while (this.#open.length > 0) this.#pop()
  }

  /** Ends the elements that a start tag of this name ends implicitly. */
  endImplied(name: string): void {
    const implied = impliedEnds[name]
    if (implied) this.#endNearest(implied.ends, implied.within)
    if (endsInline.has(name)) this.#endNearest(["a", ...headingNames], ["table"])
    if (headingNames.includes(name)) this.#endNearest(headingNames, ["table"])
    if (paragraphNames.has(name) || lineNames.has(name))
      this.#endNearest(["p"], ["td", "th", "li", "div", "button"])
  }

  #endNearest(names: readonly string[], within: readonly string[]): boolean {
    const depth = this.#depthOf(names, within)
    for (let left = depth; left > 0; left--) this.#pop()
    return depth > 0
  }

  /** How many elements to end so that the innermost element with one of the names ends; 0 if there is none inside `within`. */
  #depthOf(names: readonly string[], within: readonly string[]): number {
    if (!names.some((name) => (this.#counts.get(name) ?? 0) > 0)) return 0
    for (let depth = 1; depth <= Math.min(searchMax, this.#open.length); depth++) {
      const { name } = this.#open.at(-depth)!
      if (names.includes(name)) return depth
      if (within.includes(name)) return 0
    }
    return 0
  }

  #pop(): void {
    const element = this.#open.pop()!
    this.#counts.set(element.name, this.#counts.get(element.name)! - 1)
    element.end?.()
    if (element.hidden) this.#hidden--
  }
}

/** Browsers do not show hidden elements, and pages use them to give models instructions that people cannot see. */
function isHidden(name: string, attributes: ReadonlyMap<string, string>): boolean {
  // Some pages hide the whole document until a script has run.
  if (name === "html" || name === "body") return false
  return attributes.has("hidden") || /display\s{0,9}:\s{0,9}none/i.test(attributes.get("style") ?? "")
}
