import type { AssistantMessage, HistoryItem, Message, Part, StemmaEvent } from "../../protocol/index.ts"
import type { ChatEvent } from "./chat-event.ts"

interface SentText {
  kind: "text_delta" | "thinking_delta"
  /** How much of the text was sent, in UTF-16 units. */
  length: number
}

type CompactionPart = Extract<Part, { type: "compaction" }>

/**
 * Turns the events of a session into the chat events of the answer to one prompt. The caller may pass known events and
 * items again, whole or in part: the feed sends only what is new.
 *
 * The answer is the text of the model from the prompt until a message ends the turn. Prompts that steer the same turn
 * get the same answer: its later messages have one of those prompts as parent. Later turns are not part of the answer.
 */
export class ChatFeed {
  readonly #promptID: string
  /** The prompts that the answer belongs to. */
  readonly #promptIDs = new Set<string>()
  /**
   * The messages of the answer, oldest first, without summaries: a compaction writes its summary as an assistant
   * message, which is not part of a chat.
   */
  readonly #answerMessages = new Map<string, AssistantMessage>()
  readonly #texts = new Map<string, SentText>()
  /** By part id, because some models use the same call id in different steps. */
  readonly #calls = new Map<string, "called" | "settled">()
  readonly #compactions = new Set<string>()
  /** Compactions that may have been made for this prompt: the next message decides. */
  #unsentCompactions: CompactionPart[] = []
  #isStarted = false
  #isEnded = false

  /** `isTaken`: all events and items come after the prompt, even if the feed never receives the prompt itself. */
  constructor(promptID: string, { isTaken = false }: { isTaken?: boolean } = {}) {
    this.#promptID = promptID
    if (isTaken) this.#promptIDs.add(promptID)
  }

  /** True once a message has ended the answer. Some of its parts may still arrive. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** True once the model has started to answer. */
  get isStarted(): boolean {
    return this.#isStarted
  }

  /** The error that the answer ended with, or the interruption if no process continues the answer. */
  get failure(): ChatEvent | undefined {
    const error = this.#last?.error
    return error && { type: "error", name: error.name, message: error.data.message ?? error.name }
  }

  /** The id of the newest message of the answer. */
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
    return [...this.#answerMessages.values()].at(-1)
  }

  /** True if the prompt was taken and its answer has neither ended nor been interrupted. */
  get #isActive(): boolean {
    return this.#promptIDs.size > 0 && !this.#isEnded && this.#last?.finish !== "interrupted"
  }

  #message(message: Message): ChatEvent[] {
    if (message.role === "user") return this.#addPrompt(message.id)
    if (this.#answerMessages.has(message.id)) this.#updateMessage(message)
    else if (!this.#isEnded && !message.summary) return this.#startMessage(message)
    return []
  }

  #addPrompt(id: string): ChatEvent[] {
    const isPrompt = id === this.#promptID
    if (this.#promptIDs.has(id) || !(isPrompt || this.#isActive)) return []
    this.#promptIDs.add(id)
    return isPrompt ? this.#sendCompactions() : []
  }

  #startMessage(message: AssistantMessage): ChatEvent[] {
    if (this.#promptIDs.has(message.parentID)) {
      const compactions = this.#sendCompactions()
      this.#updateMessage(message)
      return compactions
    }
    this.#unsentCompactions = []
    // Another prompt's turn has started, so no process will continue the interrupted answer.
    if (this.#last?.finish === "interrupted") this.#isEnded = true
    return []
  }

  #updateMessage(message: AssistantMessage): void {
    this.#isStarted = true
    // The context of this call was too long, so its message became the summary of a compaction.
    if (message.summary) {
      this.#answerMessages.delete(message.id)
      return
    }
    this.#answerMessages.set(message.id, message)
    const { finish, time } = message
    if (time.completed !== undefined && finish !== "tool-calls" && finish !== "interrupted")
      this.#isEnded = true
  }

  #part(part: Part): ChatEvent[] {
    if (part.type === "compaction") return this.#compaction(part)
    if (!this.#answerMessages.has(part.messageID)) return []
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

  #text(partID: string, kind: SentText["kind"], text: string): ChatEvent[] {
    if (!this.#texts.has(partID)) this.#texts.set(partID, { kind, length: 0 })
    return this.#grow(partID, 0, text)
  }

  #grow(partID: string, offset: number, delta: string): ChatEvent[] {
    const sent = this.#texts.get(partID)
    if (!sent || offset > sent.length) return []
    const text = delta.slice(sent.length - offset)
    if (text === "") return []
    const event = { type: sent.kind, text, partId: partID, offset: sent.length }
    sent.length += text.length
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

  /** A compaction part is written when the compaction is over: with a summary, or without one if it failed. */
  #compaction(part: CompactionPart): ChatEvent[] {
    if (this.#isEnded || this.#compactions.has(part.id)) return []
    this.#compactions.add(part.id)
    this.#unsentCompactions.push(part)
    return this.#isActive ? this.#sendCompactions() : []
  }

  #sendCompactions(): ChatEvent[] {
    return this.#unsentCompactions
      .splice(0)
      .flatMap(({ summary, tokensBefore, tokensAfter }): ChatEvent[] => [
        { type: "compaction_start" },
        {
          type: "compaction_end",
          ...(tokensBefore !== undefined && { tokensBefore }),
          ...(summary !== undefined && tokensAfter !== undefined && { tokensAfter }),
        },
      ])
  }
}
