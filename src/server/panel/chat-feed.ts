import type { AssistantMessage, HistoryItem, Message, Part, StemmaEvent } from "../../protocol/index.ts"
import type { ChatEvent } from "./chat-event.ts"

interface Told {
  kind: "text_delta" | "thinking_delta"
  /** How much of the text was told, in UTF-16 units. */
  length: number
}

type CompactionPart = Extract<Part, { type: "compaction" }>

/**
 * Events of a session in, those of a chat out: of the answer to one prompt. It may be given what it knows again, whole or in
 * part, and tells only what is new.
 *
 * The answer is what the model says from the prompt on until a message ends the turn. Prompts that steer the same turn are
 * answered with it: what it says then has one of them as its parent. What others ask after it has nothing to do with it.
 */
export class ChatFeed {
  readonly #promptID: string
  /** The prompts that the answer answers. */
  readonly #asked = new Set<string>()
  /** The messages of the answer, oldest first, but for summaries: those are written as answers, and nobody in a chat said them. */
  readonly #said = new Map<string, AssistantMessage>()
  readonly #texts = new Map<string, Told>()
  /** By part: some models give the same id to calls of different steps. */
  readonly #calls = new Map<string, "called" | "settled">()
  readonly #compactions = new Set<string>()
  /** Room that was made, perhaps for this prompt: whoever comes next says for whom. */
  #roomMade: CompactionPart[] = []
  #isBegun = false
  #isEnded = false

  /** `isTaken`: what it is given is after the prompt, also if it never sees that. */
  constructor(promptID: string, { isTaken = false }: { isTaken?: boolean } = {}) {
    this.#promptID = promptID
    if (isTaken) this.#asked.add(promptID)
  }

  /** True once a message has ended the answer. Parts of it may not have come yet. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** True once the model has begun to answer. */
  get isBegun(): boolean {
    return this.#isBegun
  }

  /** Why the answer ended as it did, if anything is wrong with that; also where it was cut off, if nobody goes on. */
  get failure(): ChatEvent | undefined {
    const error = this.#last?.error
    return error && { type: "error", name: error.name, message: error.data.message ?? error.name }
  }

  /** The message that was begun last. */
  get lastID(): string | undefined {
    return this.#last?.id
  }

  item({ message, parts }: HistoryItem): ChatEvent[] {
    return [...this.#message(message), ...parts.flatMap((part) => this.#part(part))]
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

  get #last(): AssistantMessage | undefined {
    return [...this.#said.values()].at(-1)
  }

  /** The prompt was taken, its answer has no end, and nothing says that it was cut off. */
  get #isGoing(): boolean {
    return this.#asked.size > 0 && !this.#isEnded && this.#last?.finish !== "interrupted"
  }

  #message(message: Message): ChatEvent[] {
    if (message.role === "user") return this.#asks(message.id)
    if (this.#said.has(message.id)) this.#says(message)
    else if (!this.#isEnded && !message.summary) return this.#begins(message)
    return []
  }

  #asks(id: string): ChatEvent[] {
    const isPrompt = id === this.#promptID
    if (this.#asked.has(id) || !(isPrompt || this.#isGoing)) return []
    this.#asked.add(id)
    return isPrompt ? this.#tellRoom() : []
  }

  #begins(message: AssistantMessage): ChatEvent[] {
    if (this.#asked.has(message.parentID)) {
      const room = this.#tellRoom()
      this.#says(message)
      return room
    }
    this.#roomMade = []
    // Somebody else's turn: nobody goes on with an answer that was cut off.
    if (this.#last?.finish === "interrupted") this.#isEnded = true
    return []
  }

  #says(message: AssistantMessage): void {
    this.#isBegun = true
    // A call that was too long: its message became the summary that made room for the next.
    if (message.summary) {
      this.#said.delete(message.id)
      return
    }
    this.#said.set(message.id, message)
    const { finish, time } = message
    if (time.completed !== undefined && finish !== "tool-calls" && finish !== "interrupted")
      this.#isEnded = true
  }

  #part(part: Part): ChatEvent[] {
    if (part.type === "compaction") return this.#compaction(part)
    if (!this.#said.has(part.messageID)) return []
    switch (part.type) {
      case "text":
        return part.ignored ? [] : this.#text(part.id, "text_delta", part.text)
      case "reasoning":
        return this.#text(part.id, "thinking_delta", part.text)
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

  #call({ id: partID, callID: id, tool: name, state }: Extract<Part, { type: "tool" }>): ChatEvent[] {
    if (state.status === "pending" || this.#calls.get(partID) === "settled") return []
    const events: ChatEvent[] = []
    if (!this.#calls.has(partID)) events.push({ type: "tool_call", id, name, input: state.input })
    this.#calls.set(partID, "called")
    if (state.status === "running") return events
    this.#calls.set(partID, "settled")
    const isError = state.status === "error"
    events.push({ type: "tool_result", id, name, output: isError ? state.error : state.output, isError })
    return events
  }

  /** A compaction is written when it is over: with a summary, or without one if it led to nothing. */
  #compaction(part: CompactionPart): ChatEvent[] {
    if (this.#isEnded || this.#compactions.has(part.id)) return []
    this.#compactions.add(part.id)
    this.#roomMade.push(part)
    return this.#isGoing ? this.#tellRoom() : []
  }

  #tellRoom(): ChatEvent[] {
    return this.#roomMade.splice(0).flatMap(({ summary, tokensBefore, tokensAfter }): ChatEvent[] => [
      { type: "compaction_start" },
      {
        type: "compaction_end",
        ...(tokensBefore !== undefined && { tokensBefore }),
        ...(summary !== undefined && tokensAfter !== undefined && { tokensAfter }),
      },
    ])
  }
}
