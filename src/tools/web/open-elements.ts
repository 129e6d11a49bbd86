export interface OpenElement {
  name: string
  hidden: boolean
  /** Called when it ends; a page's end ends all. */
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
/** Which open elements an element ends, and below which it does not look for them. */
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
const headingNames = ["h1", "h2", "h3", "h4", "h5", "h6"]
/** Inside a link or a heading these end it: pages forget to. */
const endsInline = new Set("ul ol li table tr td th hr pre blockquote".split(" "))
/** How far below the innermost open element another is looked for, so that deep nesting costs no more. */
const searchMax = 64

/** The elements that are open, the innermost last. */
export class OpenElements {
  #open: OpenElement[] = []
  #counts = new Map<string, number>()
  #hidden = 0

  /** True if nothing that comes now is seen by people. */
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

  /** Ends the innermost element of that name and all inside it; false if there is none. */
  end(name: string): boolean {
    return this.#endNearest([name], [])
  }

  endAll(): void {
    while (this.#open.length > 0) this.#pop()
  }

  /** Ends what this element's beginning ends, as pages leave many end tags out. */
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

  /** How many elements to end so that the innermost of these is ended; 0 if none is open inside `within`. */
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

/** Browsers show none of it; pages use it to speak to programs behind people's backs. */
function isHidden(name: string, attributes: ReadonlyMap<string, string>): boolean {
  // Some pages hide all of themselves until a script has run.
  if (name === "html" || name === "body") return false
  return attributes.has("hidden") || /display\s{0,9}:\s{0,9}none/i.test(attributes.get("style") ?? "")
}
