import type { HistoryItem } from "../../protocol/index.ts"
import type { Stemma } from "../../run/stemma.ts"
import type { Frame, Subscription } from "../../stream/hub.ts"
import { errorAnswer } from "../errors.ts"
import type { Source } from "../streams/streams.ts"
import type { ChatEvent } from "./chat-event.ts"
import { ChatFeed } from "./chat-feed.ts"

/** One event of a chat, as it is sent. */
export interface ChatFrame {
  chat: ChatEvent
  cursor?: string
}

export interface ChatSourceOptions {
  stemma: Stemma
  sessionID: string
  /** The prompt whose answer is told. */
  promptID: string
  subscription: Subscription
  /** What was said already. */
  past?: readonly HistoryItem[]
  /** Rejects if the prompt is refused while it is being taken. */
  refused?: Promise<unknown>
}

/** The answer to one prompt, from its beginning until it is done. */
export class ChatSource implements Source<ChatFrame> {
  readonly ready: Promise<void>
  readonly #options: ChatSourceOptions
  readonly #feed: ChatFeed
  #refusal: { error: unknown } | undefined

  constructor(options: ChatSourceOptions) {
    this.#options = options
    this.ready = options.subscription.ready
    this.#feed = new ChatFeed(options.promptID)
    options.refused?.catch((error) => {
      this.#refusal = { error }
      options.subscription.close()
    })
  }

  close(): void {
    this.#options.subscription.close()
  }

  async *batches(): AsyncGenerator<ChatFrame[], void, undefined> {
    const { subscription, sessionID, promptID, past = [] } = this.#options
    const start: ChatEvent[] = [{ type: "start", sessionId: sessionID, messageId: promptID }]
    for (const item of past) start.push(...this.#feed.item(item))
    yield start.map((chat) => ({ chat }))
    let isOver = this.#isOver()
    if (!isOver) {
      for await (const frames of subscription.batches()) {
        const told = frames.flatMap((frame) => this.#told(frame))
        if (told.length > 0) yield told
        if (frames.some((frame) => "lagged" in frame)) return
        isOver = frames.some(isIdle) ? this.#feed.isAnswered : this.#isOver()
        if (isOver) break
      }
    }
    subscription.close()
    if (this.#refusal) yield [{ chat: failureOf(this.#refusal.error) }]
    else if (isOver) yield [{ chat: await this.#done() }]
  }

  #told(frame: Frame): ChatFrame[] {
    if ("lagged" in frame) {
      const message = "This reader was too slow. Join the chat again with GET."
      return [{ chat: { type: "error", name: "TooSlow", message } }]
    }
    return "event" in frame ? this.#feed.event(frame.event).map((chat) => ({ chat })) : []
  }

  /** What follows the answer within the run, such as a compaction, is told too; a run elsewhere is not waited for. */
  #isOver(): boolean {
    return this.#feed.isAnswered && this.#options.stemma.status(this.#options.sessionID).type === "idle"
  }

  async #done(): Promise<ChatEvent> {
    const { stemma, sessionID: sessionId } = this.#options
    const session = await stemma.sessions.get(sessionId)
    return { type: "done", sessionId, tokenEstimate: await session.contextSize() }
  }
}

function failureOf(error: unknown): ChatEvent {
  const { code, message } = errorAnswer(error).body
  return { type: "error", name: code, message }
}

function isIdle(frame: Frame): boolean {
  return "event" in frame && frame.event.type === "session.idle"
}
