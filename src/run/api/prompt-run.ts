import type {
  AssistantMessage,
  EventOf,
  HistoryItem,
  MessageError,
  Part,
  Session,
  StemmaEvent,
} from "../../protocol/index.ts"
import type { Subscription } from "../../stream/hub.ts"
import { type PromptContent, promptItem } from "../prompt/prompt.ts"
import { answerTo, submit } from "../prompt/submit.ts"
import type { Coordinator } from "../schedule/coordinator.ts"

/** The answer to a prompt. A failure is in it, not thrown: `error` says why. */
export interface Reply {
  message: AssistantMessage
  parts: Part[]
  /** What was said, without reasoning and tools. */
  text: string
  error?: MessageError
}

export interface PromptRunOptions {
  messageID: Promise<string>
  subscribe: () => Subscription
  /** Admits the prompt; called once, after whoever iterates has subscribed. */
  admit: () => Promise<void>
  /** The message that ends the answer. `isOld`: it was there before, and no event will tell of it. */
  answer: () => Promise<{ item: HistoryItem; isOld: boolean }>
}

/** Sends a prompt to a session. `content` may throw: the run that is returned then fails with that error. */
export function sendPrompt(
  coordinator: Coordinator,
  sessionID: string,
  content: (session: Session) => Promise<PromptContent>,
): PromptRun {
  const { engine } = coordinator
  const { hub, store } = engine
  let isNamed = false
  let isDuplicate = false
  const prompt = coordinator.accept(async () => {
    const session = await store.session(sessionID)
    const made = await content(session)
    isNamed = made.prompt.messageID !== undefined
    return promptItem({ ...made, engine, session })
  })
  return new PromptRun({
    messageID: prompt.then(({ id }) => id),
    subscribe: () => hub.subscribe({ scope: { sessionID }, questions: true }),
    admit: async () => {
      isDuplicate = (await submit(coordinator, await prompt, { isNamed })).isDuplicate
    },
    answer: async () => answerTo(coordinator, await prompt, { isDuplicate }),
  })
}

/** The events of the end come a little after the reply. */
const lastEventsMs = 250

/**
 * A prompt on its way. Await it for the reply, or iterate over it for the events of the session until then; both work.
 * It goes on whether or not anybody looks.
 */
export class PromptRun implements PromiseLike<Reply>, AsyncIterable<StemmaEvent> {
  /** Resolves once the prompt is accepted and durable. */
  readonly admitted: Promise<void>
  readonly messageID: Promise<string>
  readonly #reply: Promise<Reply>
  readonly #subscribe: () => Subscription
  /** Of those who iterate. */
  readonly #subscriptions = new Set<Subscription>()
  #isOver = false

  constructor(options: PromptRunOptions) {
    this.messageID = options.messageID
    this.#subscribe = options.subscribe
    this.admitted = this.#admit(options.admit)
    this.#reply = this.#wait(options.answer)
    // Nobody need look.
    for (const promise of [this.admitted, this.messageID, this.#reply]) promise.catch(() => {})
  }

  // biome-ignore lint/suspicious/noThenProperty: a prompt is awaited for its reply
  then<A = Reply, B = never>(
    onFulfilled?: ((reply: Reply) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#reply.then(onFulfilled, onRejected)
  }

  /** Each who iterates gets the events from now on, until the reply. */
  [Symbol.asyncIterator](): AsyncIterator<StemmaEvent> {
    const subscription = this.#subscribe()
    this.#subscriptions.add(subscription)
    if (this.#isOver) subscription.close()
    return this.#events(subscription)
  }

  async #admit(admit: () => Promise<void>): Promise<void> {
    // Whoever iterates does so in the same turn of the event loop.
    await Promise.resolve()
    await Promise.all([...this.#subscriptions].map(({ ready }) => ready))
    await admit()
  }

  async #wait(answer: PromptRunOptions["answer"]): Promise<Reply> {
    try {
      await this.admitted
      const { item, isOld } = await answer()
      this.#end({ afterMs: isOld ? 0 : lastEventsMs })
      return replyOf(item)
    } catch (error) {
      this.#end({ afterMs: 0 })
      throw error
    }
  }

  /** Ends the iterations that have not seen the end by themselves: those who began late, or were told of nothing. */
  #end({ afterMs }: { afterMs: number }): void {
    this.#isOver = true
    const close = () => {
      for (const subscription of this.#subscriptions) subscription.close()
    }
    if (afterMs === 0) close()
    else if (this.#subscriptions.size > 0) setTimeout(close, afterMs)
  }

  async *#events(subscription: Subscription): AsyncGenerator<StemmaEvent> {
    try {
      const messageID = await this.messageID
      let isTaken = false
      for await (const frames of subscription.batches()) {
        for (const frame of frames) {
          if (!("event" in frame)) continue
          const { event } = frame
          yield event
          if (event.type !== "message.updated") continue
          const { info } = event.properties
          if (info.id === messageID) isTaken = true
          // One that was cut off may be gone on from; the reply knows.
          if (isTaken && isEnd(event) && info.role === "assistant" && info.finish !== "interrupted") return
        }
      }
      // A prompt that failed says so here too.
      await this.#reply
    } finally {
      this.#subscriptions.delete(subscription)
      subscription.close()
    }
  }
}

/** The first message after the prompt that ends an answer is the one that ends its. */
function isEnd(event: EventOf<"message.updated">): boolean {
  const { info } = event.properties
  return info.role === "assistant" && info.time.completed !== undefined && info.finish !== "tool-calls"
}

export function replyOf(item: HistoryItem): Reply {
  const message = item.message as AssistantMessage
  const text = item.parts
    .flatMap((part) => (part.type === "text" && !part.ignored ? [part.text] : []))
    .join("\n")
  return { message, parts: item.parts, text, ...(message.error && { error: message.error }) }
}
