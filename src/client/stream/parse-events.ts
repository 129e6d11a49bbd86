import { StemmaError } from "../../protocol/error/error.ts"

/** One message of an event stream. */
export interface ServerEvent {
  /** `message` unless the server named the event. */
  type: string
  data: string
  /** The id of this message, or of a message without data right before it. */
  id: string | undefined
}

/** Longer than any message that a Stemma server sends, in UTF-16 units. */
const unitsMaxStandard = 64 * 1024 * 1024

/**
 * Parses an event stream as the HTML standard describes it under "Interpreting an event stream". The bytes may be cut
 * anywhere, even inside a character.
 */
export class EventParser {
  readonly #unitsMax: number
  readonly #decoder = new TextDecoder()
  /** The chunks of the current line. Joining them once per line keeps a long line in small chunks linear. */
  #line: string[] = []
  #endedInReturn = false
  #type = ""
  #data: string[] = []
  #units = 0
  #id: string | undefined

  constructor(options: { unitsMax?: number } = {}) {
    this.#unitsMax = options.unitsMax ?? unitsMaxStandard
  }

  /** The messages that are complete with these bytes. Throws `unavailable` if a message is too long. */
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
        `The server sent a message of more than ${this.#unitsMax} characters.`,
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

/** Returns a function that finds the end of the line that begins at `from`; -1 if the text does not contain the end. */
function lineEnds(text: string): (from: number) => number {
  // A Stemma server sends no carriage returns, and a search for them in each line would cost more than all the rest.
  if (!text.includes("\r")) return (from) => text.indexOf("\n", from)
  return (from) => {
    const end = text.slice(from).search(/[\r\n]/)
    return end < 0 ? end : from + end
  }
}
