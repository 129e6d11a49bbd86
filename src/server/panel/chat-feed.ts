import type { HistoryItem, Message, Part, StemmaEvent } from "../../protocol/index.ts"
import type { ChatEvent } from "./chat-event.ts"

interface Told {
  kind: "text_delta" | "thinking_delta"
  /** How much of the text was told, in UTF-16 units. */
  length: number
}

/**
 * Events of a session in, those of a chat out: of the answer to one prompt. It may be given what it knows again, whole or in
 * part, and tells only what is new.
 */
export class ChatFeed {
  readonly #promptID: string
  readonly #texts = new Map<string, Told>()
  readonly #calls = new Map<string, "called" | "settled">()
  readonly #compactions = new Map<string, "started" | "ended">()
  readonly #failed = new Set<string>()
  /** Summaries are written as answers; nobody in a chat said them. */
  readonly #asides = new Set<string>()
  #isTaken = false
  #isAnswered = false

  constructor(promptID: string) {
    this.#promptID = promptID
  }

  /** True once the message that ends the answer is whole. */
  get isAnswered(): boolean {
    return this.#isAnswered
  }

  item({ message, parts }: HistoryItem): ChatEvent[] {
    const before = this.#message(message)
    const told = parts.flatMap((part) => this.#part(part))
    return [...told, ...before]
  }

  event(event: StemmaEvent): ChatEvent[] {
    switch (event.type) {
      case "message.updated":
        return this.#message(event.properties.info)
      case "message.part.updated":
        return this.#part(event.properties.part)
      case "message.part.delta": {
        const { partID, offset, delta, field } = event.properties
        return field === "text" ? this.#grow(partID, offset, delta) : []
      }
      case "message.part.removed":
        return this.#texts.delete(event.properties.partID)
          ? [{ type: "reset", partId: event.properties.partID }]
          : []
      default:
        return []
    }
  }

  #message(message: Message): ChatEvent[] {
    if (message.id === this.#promptID) this.#isTaken = true
    if (message.role !== "assistant" || !this.#isTaken || this.#isAnswered) return []
    if (message.summary) this.#asides.add(message.id)
    if (message.time.completed === undefined) return []
    const isEnd = message.finish !== "tool-calls" && message.finish !== "interrupted" && !message.summary
    this.#isAnswered = isEnd
    if (!message.error || this.#failed.has(message.id)) return []
    this.#failed.add(message.id)
    return [
      { type: "error", name: message.error.name, message: message.error.data.message ?? message.error.name },
    ]
  }

  #part(part: Part): ChatEvent[] {
    // Room is made before a prompt is taken.
    if (part.type === "compaction") return this.#compaction(part)
    if (!this.#isTaken || part.messageID === this.#promptID) return []
    switch (part.type) {
      case "text":
        if (part.ignored || this.#asides.has(part.messageID)) return []
        return this.#text(part.id, "text_delta", part.text)
      case "reasoning":
        return this.#asides.has(part.messageID) ? [] : this.#text(part.id, "thinking_delta", part.text)
      case "tool":
        return this.#call(part)
      default:
        return []
    }
  }

  #text(partID: string, kind: Told["kind"], text: string): ChatEvent[] {
    if (!this.#texts.has(partID)) this.#texts.set(partID, { kind, length: 0 })
    return this.#grow(partID, 0, text)
  }

  #grow(partID: string, offset: number, delta: string): ChatEvent[] {
    const told = this.#texts.get(partID)
    if (!told || offset > told.length) return []
    const text = delta.slice(told.length - offset)
    if (text === "") return []
    const event = { type: told.kind, text, partId: partID, offset: told.length }
    told.length += text.length
    return [event]
  }

  #call({ callID: id, tool: name, state }: Extract<Part, { type: "tool" }>): ChatEvent[] {
    if (state.status === "pending" || this.#calls.get(id) === "settled") return []
    const events: ChatEvent[] = []
    if (!this.#calls.has(id)) events.push({ type: "tool_call", id, name, input: state.input })
    this.#calls.set(id, "called")
    if (state.status === "running") return events
    this.#calls.set(id, "settled")
    const isError = state.status === "error"
    events.push({ type: "tool_result", id, name, output: isError ? state.error : state.output, isError })
    return events
  }

  #compaction(part: Extract<Part, { type: "compaction" }>): ChatEvent[] {
    const known = this.#compactions.get(part.id)
    const events: ChatEvent[] = []
    if (known === undefined) events.push({ type: "compaction_start" })
    if (known !== "ended") this.#compactions.set(part.id, part.summary === undefined ? "started" : "ended")
    if (part.summary === undefined || known === "ended") return events
    const { tokensBefore, tokensAfter } = part
    events.push({
      type: "compaction_end",
      ...(tokensBefore !== undefined && { tokensBefore }),
      ...(tokensAfter !== undefined && { tokensAfter }),
    })
    return events
  }
}
