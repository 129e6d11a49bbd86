import { type HistoryItem, StemmaError } from "../../protocol/index.ts"
import { findMessage, type Stemma } from "../../run/index.ts"
import type { Frame, Subscription } from "../../stream/hub.ts"
import { errorAnswer } from "../http/errors.ts"
import type { Source } from "../streams/streams.ts"
import type { ChatEvent } from "./chat-event.ts"
import { ChatFeed } from "./chat-feed.ts"

/** While nothing is heard: no event says that a process died, or that nobody was ever at work. */
const lookEveryMs = 1000
/** A process that has just been started may go on with an answer that was cut off. */
const goOnMs = 3000
/** Many sessions that begin at once begin one after the other. */
const takeStandardMs = 30_000
const pageItems = 100

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
  /** What was said already; absent if the prompt was not taken yet. */
  past?: readonly HistoryItem[]
  /** Settles with the answer, if this process waits for it. */
  reply?: PromiseLike<unknown>
  /** How long a prompt may lie there until somebody takes it; 30 s if absent. */
  takeMs?: number
}

/** The answer to one prompt, from its beginning until it is done: also if nobody gives one. */
export class ChatSource implements Source<ChatFrame> {
  readonly ready: Promise<void>
  readonly #options: ChatSourceOptions
  readonly #feed: ChatFeed
  /** This process sees to it that there is an answer. */
  #isAwaited: boolean
  /** The prompt was refused, or its session is gone. */
  #refusal: ChatEvent | undefined
  #isOver = false
  /** Where the part of the history begins that may have changed since it was read. */
  #from: number
  #unattendedSinceMs: number | undefined
  #isRung = false
  #ring = () => {}

  constructor(options: ChatSourceOptions) {
    const { past, reply, promptID, subscription } = options
    this.#options = options
    this.ready = subscription.ready
    this.#feed = new ChatFeed(promptID, { isTaken: past !== undefined })
    this.#from = past?.at(-1)?.position ?? 0
    this.#isAwaited = reply !== undefined
    reply?.then(
      () => this.#settled(undefined),
      (error: unknown) => this.#settled(failureOf(error)),
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
        // A reply comes when the turn is over with all that belongs to it.
        if (isDue || (this.#feed.isEnded && !this.#isAwaited)) {
          const told = await this.#look()
          if (told.length > 0) yield framesOf(told)
          if (this.#isOver) break
        }
        next ??= batches.next()
        const heard = await this.#firstOf(next)
        isDue = heard === undefined
        if (!heard) continue
        next = undefined
        if (heard.done) return
        const told = heard.value.flatMap((frame) => this.#told(frame))
        if (told.length > 0) yield framesOf(told)
        if (heard.value.some((frame) => "lagged" in frame)) return
        isDue = heard.value.some(isEndOfWork)
      }
    } finally {
      subscription.close()
    }
    yield [{ chat: await this.#done() }]
  }

  /** Undefined if it is time to look. */
  async #firstOf<T>(next: Promise<T>): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined
    const alarm = new Promise<undefined>((resolve) => {
      this.#ring = () => resolve(undefined)
      if (this.#isRung) resolve(undefined)
      else timer = setTimeout(resolve, lookEveryMs, undefined)
    })
    try {
      const heard = await Promise.race([alarm, next])
      if (heard === undefined) this.#isRung = false
      return heard
    } finally {
      clearTimeout(timer)
    }
  }

  #settled(refusal: ChatEvent | undefined): void {
    this.#isAwaited = false
    this.#refusal ??= refusal
    this.#isRung = true
    this.#ring()
  }

  #told(frame: Frame): ChatEvent[] {
    if ("lagged" in frame) {
      const message = "This reader was too slow. Join the chat again with GET."
      return [{ type: "error", name: "TooSlow", message }]
    }
    if (!("event" in frame)) return []
    if (frame.event.type === "session.deleted") this.#refusal ??= failureOf(deleted())
    return this.#feed.event(frame.event)
  }

  /** Tells what the history has beyond the events, and finds out whether the chat is over. */
  async #look(): Promise<ChatEvent[]> {
    try {
      if (this.#refusal && !this.#feed.isEnded) return this.#over([], this.#refusal)
      if (this.#feed.isEnded) return this.#over(await this.#readLast(), this.#feed.failure)
      return await this.#lookAround()
    } catch (error) {
      // Of what was answered nothing is missing that anybody could still read.
      if (this.#feed.isEnded) return this.#over([], this.#feed.failure)
      if (StemmaError.is(error, "not_found")) return this.#over([], failureOf(deleted()))
      throw error
    }
  }

  async #lookAround(): Promise<ChatEvent[]> {
    const { stemma, sessionID, promptID, takeMs = takeStandardMs } = this.#options
    // In this order: what somebody has done in between is read afterwards.
    const work = this.#isAwaited ? "running" : await stemma.sessions.promptState(sessionID, promptID)
    if (work === "running") {
      this.#unattendedSinceMs = undefined
      return []
    }
    const { told, isTaken } = await this.#read()
    if (this.#feed.isEnded) return this.#over(told, this.#feed.failure)
    const nowMs = performance.now()
    this.#unattendedSinceMs ??= nowMs
    const patienceMs = work === "waiting" ? takeMs : this.#feed.isBegun ? goOnMs : 0
    if (nowMs - this.#unattendedSinceMs < patienceMs) return told
    return this.#over(told, this.#whyNot({ isWaiting: work === "waiting", isTaken }))
  }

  /** Undefined if there is nothing wrong: what was only noted down is answered by nobody. */
  #whyNot({ isWaiting, isTaken }: { isWaiting: boolean; isTaken: boolean }): ChatEvent | undefined {
    if (isWaiting && !isTaken) {
      const text = "Nobody has taken the message yet. It is kept: send another one, or join again later."
      return failureOf(new StemmaError("unavailable", text))
    }
    if (!isTaken) {
      return failureOf(
        new StemmaError("not_found", "The message is not in the session any more. Send it again."),
      )
    }
    if (!this.#feed.isBegun) return undefined
    const text = "The answer was cut off, and nobody goes on with it. Send another message."
    return this.#feed.failure ?? { type: "error", name: "InterruptedError", message: text }
  }

  #over(told: ChatEvent[], failure: ChatEvent | undefined): ChatEvent[] {
    this.#isOver = true
    return failure ? [...told, failure] : told
  }

  /** The parts of a message come after the event that ends it, and those of the messages before have come. */
  async #readLast(): Promise<ChatEvent[]> {
    const { stemma, sessionID } = this.#options
    const { lastID } = this.#feed
    const last = lastID === undefined ? undefined : await findMessage(stemma.reader, sessionID, lastID)
    return last ? this.#feed.item(last) : []
  }

  async #read(): Promise<{ told: ChatEvent[]; isTaken: boolean }> {
    const { stemma, sessionID, promptID } = this.#options
    const told: ChatEvent[] = []
    const prompt = await findMessage(stemma.reader, sessionID, promptID)
    if (!prompt) return { told, isTaken: false }
    this.#from = Math.max(this.#from, prompt.position)
    for (;;) {
      const query = { from: this.#from, take: "start", limit: pageItems } as const
      const page = await stemma.reader.history(sessionID, query)
      for (const item of page.items) told.push(...this.#feed.item(item))
      // The last one may still grow.
      this.#from = page.items.at(-1)?.position ?? this.#from
      if (this.#feed.isEnded || !page.more) return { told, isTaken: true }
    }
  }

  async #done(): Promise<ChatEvent> {
    const { stemma, sessionID: sessionId } = this.#options
    const size = async () => (await stemma.sessions.get(sessionId)).contextSize()
    // A session that is gone has no context. Whatever else is wrong with it, the answer is whole.
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

function deleted(): StemmaError {
  return new StemmaError("not_found", "The session was deleted. Begin another one.")
}

function isEndOfWork(frame: Frame): boolean {
  return "event" in frame && (frame.event.type === "session.idle" || frame.event.type === "session.deleted")
}
