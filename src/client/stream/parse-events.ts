import { StemmaError } from "../../protocol/index.ts"

/** One message of an event stream. */
export interface ServerEvent {
  /** `message` unless the server named it. */
  type: string
  data: string
  /** Its own, or one that came alone since the message before it. */
  id: string | undefined
}

/** More than any message of a server that means well, in UTF-16 units. */
const unitsMaxStandard = 64 * 1024 * 1024

/**
 * Takes the bytes of an event stream as they come, cut anywhere, and gives the messages that are whole by then: the format
 * of the WHATWG's HTML standard, section "Interpreting an event stream".
 */
export class EventParser {
  /** How long the server would have a client wait before it comes back. */
  retryMs: number | undefined
  readonly #unitsMax: number
  readonly #decoder = new TextDecoder()
  /** The line so far, in bits: looking at it again with each of them would take ever longer. */
  #line: string[] = []
  #endedInReturn = false
  #type = ""
  #data: string[] = []
  #units = 0
  #id: string | undefined

  constructor(options: { unitsMax?: number } = {}) {
    this.#unitsMax = options.unitsMax ?? unitsMaxStandard
  }

  push(bytes: Uint8Array): ServerEvent[] {
    const text = this.#decoder.decode(bytes, { stream: true })
    const events: ServerEvent[] = []
    let at = 0
    if (this.#endedInReturn && text !== "") {
      this.#endedInReturn = false
      if (text[0] === "\n") at = 1
    }
    const endOf = lineEnds(text)
    for (let end = endOf(at); end >= 0; end = endOf(at)) {
      this.#keep(text.slice(at, end))
      const event = this.#take(this.#line.join(""))
      if (event) events.push(event)
      this.#line = []
      at = end + 1
      if (text[end] !== "\r") continue
      if (at === text.length) this.#endedInReturn = true
      else if (text[at] === "\n") at++
    }
    this.#keep(text.slice(at))
    return events
  }

  #keep(text: string): void {
    if (text === "") return
    this.#units += text.length
    if (this.#units > this.#unitsMax) {
      throw new StemmaError(
        "unavailable",
        "The server sent a message that is too long to be one of Stemma's.",
      )
    }
    this.#line.push(text)
  }

  #take(line: string): ServerEvent | undefined {
    if (line === "") return this.#dispatch()
    const colon = line.indexOf(":")
    const isComment = colon === 0
    if (isComment) this.#units -= line.length
    else this.#field(...split(line, colon))
    return undefined
  }

  #field(name: string, value: string): void {
    if (name === "data") this.#data.push(value)
    else if (name === "event") this.#type = value
    else if (name === "id" && !value.includes("\0")) this.#id = value
    else if (name === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value)
  }

  #dispatch(): ServerEvent | undefined {
    const event = { type: this.#type || "message", data: this.#data.join("\n"), id: this.#id }
    const isEmpty = this.#data.length === 0
    this.#type = ""
    this.#data = []
    this.#units = 0
    if (isEmpty) return undefined
    this.#id = undefined
    return event
  }
}

function split(line: string, colon: number): [name: string, value: string] {
  if (colon < 0) return [line, ""]
  return [line.slice(0, colon), line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1)]
}

/** Says where the line that begins at a place ends; -1 if that is not known yet. */
function lineEnds(text: string): (from: number) => number {
  // Stemma's own server sends no returns, and looking for them in each line would cost more than all the rest.
  if (!text.includes("\r")) return (from) => text.indexOf("\n", from)
  return (from) => {
    const end = text.slice(from).search(/[\r\n]/)
    return end < 0 ? end : from + end
  }
}
