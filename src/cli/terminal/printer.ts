import type { Part, StemmaEvent } from "../../protocol/index.ts"
import { type Output, shownJson, shownLine, type Terminal } from "./terminal.ts"
import { VisibleStream } from "./visible-stream.ts"

/** Shows what happens in a session. */
export interface Printer {
  event(event: StemmaEvent): Promise<void>
  /** The parts of the last message, whole, in case the stream was behind. */
  end(parts: readonly Part[]): Promise<void>
  /** A line for the person, beside the answer. */
  note(text: string): void
}

/** A line of JSON for each event. */
export function jsonPrinter(output: Output, terminal: Terminal): Printer {
  return {
    event: (event) => output.write(`${shownJson(event)}\n`),
    end: async () => {},
    note: (text) => void terminal.error.write(`${shownLine(text)}\n`),
  }
}

interface Printed {
  /** How much of the text was taken, in UTF-16 units. */
  length: number
  stream: VisibleStream
}

/** The answer on the output, as it comes; what tools do, and what goes wrong on the way, as short lines beside it. */
export class TextPrinter implements Printer {
  readonly #output: Output
  readonly #terminal: Terminal
  /** Messages that are an answer: neither a prompt nor a summary. */
  readonly #answers = new Set<string>()
  readonly #texts = new Map<string, Printed>()
  readonly #told = new Set<string>()
  #last: string | undefined
  #isAtStart = true

  constructor(output: Output, terminal: Terminal) {
    this.#output = output
    this.#terminal = terminal
  }

  async event({ type, properties }: StemmaEvent): Promise<void> {
    if (type === "message.updated") {
      const { info } = properties
      if (info.role === "assistant" && !info.summary) this.#answers.add(info.id)
    } else if (type === "message.part.delta") {
      const { partID, field, offset, delta } = properties
      if (field === "text" && this.#texts.has(partID)) await this.#text(partID, { offset, text: delta })
    } else if (type === "message.part.updated") await this.#part(properties.part)
  }

  async end(parts: readonly Part[]): Promise<void> {
    for (const part of parts) await this.#part(part)
    if (this.#last !== undefined) await this.#write(this.#texts.get(this.#last)!.stream.end())
    if (!this.#isAtStart) await this.#write("\n")
  }

  note(text: string): void {
    // On a screen both are the same; in files each has its own lines.
    const isShared = this.#terminal.output.isTTY && this.#terminal.error.isTTY && !this.#isAtStart
    this.#terminal.error.write(`${isShared ? "\n" : ""}${shownLine(text)}\n`)
    if (isShared) this.#isAtStart = true
  }

  async #part(part: Part): Promise<void> {
    if (!this.#answers.has(part.messageID)) return
    if (part.type === "text") {
      if (!this.#texts.has(part.id)) this.#texts.set(part.id, { length: 0, stream: new VisibleStream() })
      await this.#text(part.id, { offset: 0, text: part.text })
    }
    if (part.type === "retry")
      this.#tell(part.id, `Trying again: ${part.error.data.message ?? part.error.name}`)
    if (part.type !== "tool") return
    const { state } = part
    if (state.status === "running")
      this.#tell(`${part.id} >`, `> ${part.tool} ${JSON.stringify(state.input)}`)
    if (state.status === "completed") this.#tell(part.id, `< ${state.title || part.tool}`)
    if (state.status === "error") this.#tell(part.id, `< ${part.tool} failed: ${state.error}`)
  }

  async #text(partID: string, { offset, text }: { offset: number; text: string }): Promise<void> {
    const printed = this.#texts.get(partID)!
    const rest = offset > printed.length ? "" : text.slice(printed.length - offset)
    if (rest === "") return
    printed.length += rest.length
    if (this.#last !== partID) {
      const before = this.#last === undefined ? "" : this.#texts.get(this.#last)!.stream.end()
      await this.#write(before)
      if (!this.#isAtStart) await this.#write("\n")
      this.#last = partID
    }
    await this.#write(printed.stream.write(rest))
  }

  async #write(text: string): Promise<void> {
    if (text === "") return
    this.#isAtStart = text.endsWith("\n")
    await this.#output.write(text)
  }

  #tell(key: string, text: string): void {
    if (this.#told.has(key)) return
    this.#told.add(key)
    this.note(text)
  }
}
