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

/** The answer to a prompt. A failed run is not thrown: `error` has the reason. */
export interface Reply {
  message: AssistantMessage
  parts: Part[]
  /** The text of the answer, without reasoning and tools. */
  text: string
  error?: MessageError
}

export interface PromptRunOptions {
  messageID: Promise<string>
  subscribe: () => Subscription
  /** Admits the prompt. Called once, after every iterator has subscribed. */
  admit: () => Promise<void>
  /** Resolves with the message that ends the answer. `isOld`: it was in the history before, so no event announces it. */
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

/** The last events of a run arrive shortly after its reply. */
const lastEventsMs = 250

/**
 * A prompt that was sent. Await it for the reply, or iterate over it for the events of the session until the reply, or both.
 * The run continues whether or not the caller awaits or iterates.
 */
export class PromptRun implements PromiseLike<Reply>, AsyncIterable<StemmaEvent> {
  /** Resolves once the prompt is accepted and durable. */
  readonly admitted: Promise<void>
  readonly messageID: Promise<string>
  readonly #reply: Promise<Reply>
  readonly #subscribe: () => Subscription
  /** One for each iterator. */
  readonly #subscriptions = new Set<Subscription>()
  #isOver = false

  constructor(options: PromptRunOptions) {
    this.messageID = options.messageID
    this.#subscribe = options.subscribe
    this.admitted = this.#admit(options.admit)
    this.#reply = this.#wait(options.answer)
    // The caller may ignore these promises, so a rejection must not be unhandled.
    for (const promise of [this.admitted, this.messageID, this.#reply]) promise.catch(() => {})
  }

  // biome-ignore lint/suspicious/noThenProperty: a prompt is awaited for its reply
  then<A = Reply, B = never>(
    onFulfilled?: ((reply: Reply) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#reply.then(onFulfilled, onRejected)
  }

  /** The events from now on, until the reply. Each iterator has its own subscription. */
  [Symbol.asyncIterator](): AsyncIterator<StemmaEvent> {
    const subscription = this.#subscribe()
    this.#subscriptions.add(subscription)
    if (this.#isOver) subscription.close()
    return this.#events(subscription)
  }

  async #admit(admit: () => Promise<void>): Promise<void> {
    // A caller that iterates does so in the tick of the call, so its subscription exists after one microtask.
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

  /** Closes the iterators that have not seen the last event: late ones, and those of a reply without events. */
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
          // Recovery may continue an interrupted message, so only the reply ends the iteration then.
          if (isTaken && isEnd(event) && info.role === "assistant" && info.finish !== "interrupted") return
        }
      }
      // Throws for a prompt that failed.
      await this.#reply
    } finally {
      this.#subscriptions.delete(subscription)
      subscription.close()
    }
  }
}

/** True for the first sealed assistant message after the prompt that does not continue with tool calls. */
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
