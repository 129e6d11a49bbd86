import type { Part, StemmaEvent } from "../../protocol/index.ts"
import { type Output, printableJson, printableLine, type Terminal } from "./terminal.ts"
import { VisibleStream } from "./visible-stream.ts"

/** Prints the events of a session. */
export interface Printer {
  event(event: StemmaEvent): Promise<void>
  /** Receives the complete parts of the last message, in case the event stream was behind. */
  end(parts: readonly Part[]): Promise<void>
  /** Prints a line for the person that is not part of the answer. */
  note(text: string): void
}

export function jsonPrinter(output: Output, terminal: Terminal): Printer {
  return {
    event: (event) => output.write(`${printableJson(event)}\n`),
    end: async () => {},
    note: (text) => void terminal.error.write(`${printableLine(text)}\n`),
  }
}

interface PrintedText {
  /** How much of the text was printed, in UTF-16 units. */
  length: number
  stream: VisibleStream
}

/** Prints the answer to the output while it is written. Tool calls and errors go to the error output as short lines. */
export class TextPrinter implements Printer {
  readonly #output: Output
  readonly #terminal: Terminal
  /** Messages that are an answer, not a prompt or a summary. */
  readonly #answers = new Set<string>()
  readonly #texts = new Map<string, PrintedText>()
  readonly #noted = new Set<string>()
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
    // On a terminal, output and error output share the screen, so a note starts a new line.
    const isShared = this.#terminal.output.isTTY && this.#terminal.error.isTTY && !this.#isAtStart
    this.#terminal.error.write(`${isShared ? "\n" : ""}${printableLine(text)}\n`)
    if (isShared) this.#isAtStart = true
  }

  async #part(part: Part): Promise<void> {
    if (!this.#answers.has(part.messageID)) return
    if (part.type === "text") {
      if (!this.#texts.has(part.id)) this.#texts.set(part.id, { length: 0, stream: new VisibleStream() })
      await this.#text(part.id, { offset: 0, text: part.text })
    }
    if (part.type === "retry")
      this.#noteOnce(part.id, `Trying again: ${part.error.data.message ?? part.error.name}`)
    if (part.type !== "tool") return
    const { state } = part
    if (state.status === "running")
      this.#noteOnce(`${part.id} >`, `> ${part.tool} ${JSON.stringify(state.input)}`)
    if (state.status === "completed") this.#noteOnce(part.id, `< ${state.title || part.tool}`)
    if (state.status === "error") this.#noteOnce(part.id, `< ${part.tool} failed: ${state.error}`)
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

  #noteOnce(key: string, text: string): void {
    if (this.#noted.has(key)) return
    this.#noted.add(key)
    this.note(text)
  }
}
