import { type HistoryItem, StemmaError } from "../../protocol/index.ts"
import { findMessage, type Stemma } from "../../run/index.ts"
import type { Frame, Subscription } from "../../stream/hub.ts"
import { errorAnswer } from "../http/errors.ts"
import type { Source } from "../streams/streams.ts"
import type { ChatEvent } from "./chat-event.ts"
import { ChatFeed } from "./chat-feed.ts"

/**
 * How often to check the store while no event arrives: no event reports that a process died or that a prompt was never
 * taken.
 */
const checkEveryMs = 1000
/** How long to wait for a newly started process to continue an interrupted answer. */
const continueMs = 3000
/** Long enough for many sessions that start at the same time, because they start one after the other. */
const takeStandardMs = 30_000
const pageItems = 100

export interface ChatFrame {
  chat: ChatEvent
  cursor?: string
}

export interface ChatSourceOptions {
  stemma: Stemma
  sessionID: string
  /** The prompt whose answer is sent. */
  promptID: string
  subscription: Subscription
  /** The items of the turn so far. Absent if the prompt was not taken yet. */
  past?: readonly HistoryItem[]
  /** Settles with the answer, if this process waits for it. */
  reply?: PromiseLike<unknown>
  /** How long a prompt may wait until a process takes it; 30 s if absent. */
  takeMs?: number
}

/** The answer to one prompt, from its start to its end. Also ends if no process answers. */
export class ChatSource implements Source<ChatFrame> {
  readonly ready: Promise<void>
  readonly #options: ChatSourceOptions
  readonly #feed: ChatFeed
  /** True while this process waits for the answer. */
  #isAwaited: boolean
  /** Set if the prompt was refused or its session was deleted. */
  #refusal: ChatEvent | undefined
  #isOver = false
  /** The position from which the history may have changed since it was last read. */
  #from: number
  #idleSinceMs: number | undefined
  #isWoken = false
  #wake = () => {}

  constructor(options: ChatSourceOptions) {
    const { past, reply, promptID, subscription } = options
    this.#options = options
    this.ready = subscription.ready
    this.#feed = new ChatFeed(promptID, { isTaken: past !== undefined })
    this.#from = past?.at(-1)?.position ?? 0
    this.#isAwaited = reply !== undefined
    reply?.then(
      () => this.#onReply(undefined),
      (error: unknown) => this.#onReply(failureOf(error)),
    )
  }

  close(): void {
    this.#options.subscription.close()
  }

  async *batches(): AsyncGenerator<ChatFrame[], void, undefined> {
    const { subscription, sessionID, promptID, past = [] } = this.#options
    const start: ChatEvent[] = [{ type: "start", sessionId: sessionID, messageId: promptID }]
    for (const item of past) start.push(...this.#feed.item(item))
    yield framesOf(start)
    const batches = subscription.batches()[Symbol.asyncIterator]()
    let next: Promise<IteratorResult<Frame[], unknown>> | undefined
    let isDue = !this.#isAwaited
    try {
      for (;;) {
        // `reply` settles when the turn and everything that belongs to it is stored.
        if (isDue || (this.#feed.isEnded && !this.#isAwaited)) {
          const events = await this.#checkStore()
          if (events.length > 0) yield framesOf(events)
          if (this.#isOver) break
        }
        next ??= batches.next()
        const result = await this.#nextOrCheck(next)
        isDue = result === undefined
        if (!result) continue
        next = undefined
        if (result.done) return
        const events = result.value.flatMap((frame) => this.#chatEvents(frame))
        if (events.length > 0) yield framesOf(events)
        if (result.value.some((frame) => "lagged" in frame)) return
        isDue = result.value.some(isEndOfWork)
      }
    } finally {
      subscription.close()
    }
    yield [{ chat: await this.#done() }]
  }

  /** Undefined if it is time to check the store. */
  async #nextOrCheck<T>(next: Promise<T>): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined
    const alarm = new Promise<undefined>((resolve) => {
      this.#wake = () => resolve(undefined)
      if (this.#isWoken) resolve(undefined)
      else timer = setTimeout(resolve, checkEveryMs, undefined)
    })
    try {
      const result = await Promise.race([alarm, next])
      if (result === undefined) this.#isWoken = false
      return result
    } finally {
      clearTimeout(timer)
    }
  }

  #onReply(refusal: ChatEvent | undefined): void {
    this.#isAwaited = false
    this.#refusal ??= refusal
    this.#isWoken = true
    this.#wake()
  }

  #chatEvents(frame: Frame): ChatEvent[] {
    if ("lagged" in frame) {
      const message = "The client read the stream too slowly. Join the chat again with GET."
      return [{ type: "error", name: "TooSlow", message }]
    }
    if (!("event" in frame)) return []
    if (frame.event.type === "session.deleted") this.#refusal ??= failureOf(sessionDeleted())
    return this.#feed.event(frame.event)
  }

  /** Sends what the history has beyond the events, and finds out whether the chat is over. */
  async #checkStore(): Promise<ChatEvent[]> {
    try {
      if (this.#refusal && !this.#feed.isEnded) return this.#finish([], this.#refusal)
      if (this.#feed.isEnded) return this.#finish(await this.#readLast(), this.#feed.failure)
      return await this.#checkActivity()
    } catch (error) {
      // The answer has ended, so no readable event is missing.
      if (this.#feed.isEnded) return this.#finish([], this.#feed.failure)
      if (StemmaError.is(error, "not_found")) return this.#finish([], failureOf(sessionDeleted()))
      throw error
    }
  }

  async #checkActivity(): Promise<ChatEvent[]> {
    const { stemma, sessionID, promptID, takeMs = takeStandardMs } = this.#options
    // The activity is read first, so that a change in between is seen by the read of the history.
    const isAwaited = this.#isAwaited
    const activity = isAwaited ? "running" : await stemma.sessions.promptState(sessionID, promptID)
    if (activity === "running") {
      this.#idleSinceMs = undefined
      return []
    }
    const { events, isTaken } = await this.#read()
    if (this.#feed.isEnded) return this.#finish(events, this.#feed.failure)
    const nowMs = performance.now()
    this.#idleSinceMs ??= nowMs
    const waitMs = activity === "waiting" ? takeMs : this.#feed.isStarted ? continueMs : 0
    if (nowMs - this.#idleSinceMs < waitMs) return events
    return this.#finish(events, this.#failureReason({ isWaiting: activity === "waiting", isTaken }))
  }

  /** Undefined if nothing is wrong: a message that was only appended gets no answer. */
  #failureReason({ isWaiting, isTaken }: { isWaiting: boolean; isTaken: boolean }): ChatEvent | undefined {
    if (isWaiting && !isTaken) {
      const text =
        "No process has taken the message yet. It is stored: send another one, or join again later."
      return failureOf(new StemmaError("unavailable", text))
    }
    if (!isTaken) {
      return failureOf(
        new StemmaError("not_found", "The message is no longer in the session. Send it again."),
      )
    }
    if (!this.#feed.isStarted) return undefined
    const text = "The answer was interrupted, and no process continues it. Send another message."
    return this.#feed.failure ?? { type: "error", name: "InterruptedError", message: text }
  }

  #finish(events: ChatEvent[], failure: ChatEvent | undefined): ChatEvent[] {
    this.#isOver = true
    return failure ? [...events, failure] : events
  }

  /** The parts of the last message may arrive after the event that ends it. All earlier parts have arrived. */
  async #readLast(): Promise<ChatEvent[]> {
    const { stemma, sessionID } = this.#options
    const { lastID } = this.#feed
    const last = lastID === undefined ? undefined : await findMessage(stemma.reader, sessionID, lastID)
    return last ? this.#feed.item(last) : []
  }

  async #read(): Promise<{ events: ChatEvent[]; isTaken: boolean }> {
    const { stemma, sessionID, promptID } = this.#options
    const events: ChatEvent[] = []
    const prompt = await findMessage(stemma.reader, sessionID, promptID)
    if (!prompt) return { events, isTaken: false }
    this.#from = Math.max(this.#from, prompt.position)
    for (;;) {
      const query = { from: this.#from, take: "start", limit: pageItems } as const
      const page = await stemma.reader.history(sessionID, query)
      for (const item of page.items) events.push(...this.#feed.item(item))
      // The last message may still grow.
      this.#from = page.items.at(-1)?.position ?? this.#from
      if (this.#feed.isEnded || !page.more) return { events, isTaken: true }
    }
  }

  async #done(): Promise<ChatEvent> {
    const { stemma, sessionID: sessionId } = this.#options
    const size = async () => (await stemma.sessions.get(sessionId)).contextSize()
    // A deleted session has no context. Other errors are ignored too, because the answer is complete.
    return { type: "done", sessionId, tokenEstimate: await size().catch(() => 0) }
  }
}

function framesOf(events: readonly ChatEvent[]): ChatFrame[] {
  return events.map((chat) => ({ chat }))
}

function failureOf(error: unknown): ChatEvent {
  const { code, message } = errorAnswer(error).body
  return { type: "error", name: code, message }
}

function sessionDeleted(): StemmaError {
  return new StemmaError("not_found", "The session was deleted. Start another one.")
}

function isEndOfWork(frame: Frame): boolean {
  return "event" in frame && (frame.event.type === "session.idle" || frame.event.type === "session.deleted")
}
