import { createContext, Script } from "node:vm"
import { describe, expect, test } from "vitest"
import { assets } from "./assets.ts"

/** The part of a DOM element that the script uses. Text stays text. */
class Element {
  id = ""
  className = ""
  dateTime = ""
  dataset: Record<string, string> = {}
  children: (Element | string)[] = []
  parent: Element | undefined
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  append(...children: (Element | string)[]): void {
    for (const child of children) if (child instanceof Element) child.parent = this
    this.children.push(...children)
  }

  replaceChildren(): void {
    this.children = []
  }

  replaceWith(other: Element): void {
    const siblings = this.parent!.children
    siblings[siblings.indexOf(this)] = other
    other.parent = this.parent
  }

  contains(other: Element): boolean {
    return this.children.includes(other)
  }

  get textContent(): string {
    return this.children.map((child) => (typeof child === "string" ? child : child.textContent)).join("")
  }

  set textContent(text: string) {
    this.children = [text]
  }

  *all(): Generator<Element> {
    yield this
    for (const child of this.children) if (child instanceof Element) yield* child.all()
  }
}

function openPage() {
  const body = new Element("body")
  for (const id of ["title", "messages", "state"]) {
    const made = new Element("div")
    made.id = id
    body.append(made)
  }
  const byID = (id: string) => [...body.all()].find((one) => one.id === id) ?? null
  byID("messages")!.dataset.cursor = "key.4"
  const sources: { url: string; isClosed: boolean; onmessage: (event: { data: string }) => void }[] = []
  class EventSource {
    static CLOSED = 2
    isClosed = false
    onmessage = () => {}
    readonly url: string
    constructor(url: string) {
      this.url = url
      sources.push(this)
    }
    close() {
      this.isClosed = true
    }
  }
  const document = { title: "", getElementById: byID, createElement: (name: string) => new Element(name) }
  const context = createContext({ document, location: { pathname: "/share/secret" }, EventSource })
  new Script(assets.get("share.js")!.text).runInContext(context)
  const send = (type: string, properties?: unknown) =>
    sources[0]!.onmessage({ data: JSON.stringify({ type, properties }) })
  return { send, source: sources[0]!, document, list: byID("messages")!, state: byID("state")! }
}

const message = {
  id: "msg_a",
  position: 1,
  role: "assistant",
  agent: "build",
  model: "p/m",
  time: { created: 0 },
  parts: [
    { type: "text", text: "before\n```ts\n<b>code</b>\n```\nafter" },
    { type: "reasoning", text: "thought" },
    { type: "tool", tool: "read", status: "completed" },
    { type: "tool", tool: "bash", status: "error", title: "a title", input: "{}", error: "no" },
    { type: "file", name: "a.png", mime: "image/png", bytes: 3 },
    { type: "task" },
    { type: "compaction" },
  ],
  error: { name: "APIError", message: "it failed" },
}

describe("the script of the page", () => {
  test("continues from the cursor of the page, and adds messages as text", () => {
    const { send, source, list, document } = openPage()
    expect(source.url).toBe("/share/secret/event?since=key.4")
    send("session", { title: "<i>New</i>" })
    expect(document.title).toBe("<i>New</i>")
    send("message", message)
    expect(list.children).toHaveLength(1)
    const names = [...list.all()].map(({ name }) => name)
    expect(names.filter((name) => name === "b" || name === "i")).toEqual([])
    expect(list.textContent).toContain("<b>code</b>")
    for (const shown of ["before", "after", "thought", "read · done", "bash · a title · failed", "a.png"]) {
      expect(list.textContent).toContain(shown)
    }
    expect(list.textContent).toContain("APIError: it failed")
  })

  test("replaces a known message, clears the list at a reset, and clears it at the end", () => {
    const { send, source, list, state } = openPage()
    send("message", message)
    send("message", { ...message, parts: [] })
    expect(list.children).toHaveLength(1)
    expect(list.textContent).not.toContain("before")
    send("reset")
    expect(list.children).toEqual([])
    send("message", message)
    send("ended")
    expect(list.children).toEqual([])
    expect(state.textContent).toBe("This session is no longer shared.")
    expect(source.isClosed).toBe(true)
  })
})
