import type {
  AssistantMessage,
  EventOf,
  HistoryItem,
  MessageError,
  Part,
  Session,
  StemmaEvent,
  UserMessage,
} from "../../protocol/index.ts"
import type { Subscription } from "../../stream/hub.ts"
import { type PromptContent, promptItem } from "../prompt/prompt.ts"
import { answerTo, submit } from "../prompt/submit.ts"
import type { Coordinator } from "../schedule/coordinator.ts"

/** The answer to a prompt. A failed run is not thrown: `error` has the reason. */
export interface Reply {
  /** The last message of the answer. */
  message: AssistantMessage
  /** The parts of that message. */
  parts: Part[]
  /** The text of the answer, without reasoning and tools. */
  text: string
  /** Why the answer failed. `message` is the reason in words, for every kind of error. */
  error?: MessageError & { message: string }
}

export interface PromptRunOptions {
  messageID: Promise<string>
  subscribe: () => Subscription
  /** Whether this process runs the session now. */
  isRunning: () => boolean
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
    isRunning: () => hub.status(sessionID).type !== "idle",
    admit: async () => {
      isDuplicate = (await submit(coordinator, await prompt, { isNamed })).isDuplicate
    },
    answer: async () => answerTo(coordinator, await prompt, { isDuplicate }),
  })
}

/** The last events of a run may arrive after its reply. An iterator that misses the last one is closed after this time. */
const lastEventsMs = 5000

/** One caller that iterates over the events. */
interface Iteration {
  subscription: Subscription
  /** Messages whose end the caller has been given. */
  ended: Set<string>
  /** This process runs the session, as far as the caller has been told. Then `session.idle` follows. */
  isRunning: boolean
  /** The caller has been given the end of the answer. */
  isAnswered: boolean
  /** The caller has asked for an event. */
  isAdvanced: boolean
  timer?: NodeJS.Timeout
}

/**
 * A prompt that was sent. Await it for the reply, or iterate over it for the events of the session until the reply, or both.
 * The run continues whether or not the caller awaits or iterates.
 */
export class PromptRun implements PromiseLike<Reply>, AsyncIterable<StemmaEvent> {
  /** Resolves once the prompt is accepted and durable. */
  readonly admitted: Promise<void>
  /** The id of the user message. */
  readonly messageID: Promise<string>
  readonly #reply: Promise<Reply>
  readonly #subscribe: () => Subscription
  readonly #isRunning: () => boolean
  readonly #iterations = new Set<Iteration>()
  #isOver = false
  /** The message that ends the answer, once it is known. */
  #lastID: string | undefined

  constructor(options: PromptRunOptions) {
    this.messageID = options.messageID
    this.#subscribe = options.subscribe
    this.#isRunning = options.isRunning
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

  /**
   * The events of the session from now on, without the end of an earlier run. The last event is `session.idle`, unless the
   * session goes on with another prompt or another process runs it. Each iterator has its own subscription.
   */
  [Symbol.asyncIterator](): AsyncIterator<StemmaEvent> {
    const iteration: Iteration = {
      subscription: this.#subscribe(),
      ended: new Set(),
      isRunning: this.#isRunning(),
      isAnswered: false,
      isAdvanced: false,
    }
    this.#iterations.add(iteration)
    if (this.#isOver) iteration.subscription.close()
    return this.#events(iteration)
  }

  async #admit(admit: () => Promise<void>): Promise<void> {
    // A caller that iterates does so in the tick of the call, so its subscription exists after one microtask.
    await Promise.resolve()
    await Promise.all([...this.#iterations].map(({ subscription }) => subscription.ready))
    await admit()
  }

  async #wait(answer: PromptRunOptions["answer"]): Promise<Reply> {
    try {
      await this.admitted
      const { item, isOld } = await answer()
      this.#end(isOld ? undefined : item.message.id)
      return replyOf(item)
    } catch (error) {
      this.#end()
      throw error
    }
  }

  /**
   * Closes the iterators. With an id, those that have not given the end of that message and of the run yet may still do so.
   */
  #end(lastID?: string): void {
    this.#isOver = true
    this.#lastID = lastID
    for (const iteration of this.#iterations) {
      const { subscription, ended } = iteration
      if (lastID !== undefined && ended.has(lastID)) iteration.isAnswered = true
      if (lastID === undefined || (iteration.isAnswered && !iteration.isRunning)) {
        subscription.close()
        continue
      }
      iteration.timer = setTimeout(() => subscription.close(), lastEventsMs)
      // A caller that has asked for nothing waits for nothing.
      if (!iteration.isAdvanced) iteration.timer.unref()
    }
  }

  async *#events(iteration: Iteration): AsyncGenerator<StemmaEvent> {
    const { subscription, ended } = iteration
    iteration.isAdvanced = true
    iteration.timer?.ref()
    try {
      const messageID = await this.messageID
      await subscription.ready.catch(() => {})
      // The status may have changed before the subscription was ready.
      iteration.isRunning ||= this.#isRunning()
      let own: UserMessage | undefined
      let isTaken = false
      for await (const frames of subscription.batches()) {
        for (const frame of frames) {
          if (!("event" in frame)) continue
          const { event } = frame
          if (event.type === "session.status") iteration.isRunning = event.properties.status.type !== "idle"
          // An earlier run may end after this prompt was sent.
          if (!isTaken && !iteration.isAnswered && isIdle(event)) continue
          if (iteration.isAnswered && isLaterPrompt(event, own)) return
          yield event
          if (event.type === "session.idle" && iteration.isAnswered) return
          if (event.type !== "message.updated") continue
          const { info } = event.properties
          if (info.role === "user" && info.id === messageID) own = info
          if (info.id === messageID || (info.role === "assistant" && info.parentID === messageID))
            isTaken = true
          if (!isEnd(event)) continue
          ended.add(info.id)
          // Recovery may continue an interrupted message, so only the reply ends the iteration then.
          const isComplete = isTaken && info.role === "assistant" && info.finish !== "interrupted"
          if (info.id === this.#lastID || isComplete) iteration.isAnswered = true
          if (iteration.isAnswered && !iteration.isRunning) return
        }
      }
      // Throws for a prompt that failed.
      await this.#reply
    } finally {
      this.#iterations.delete(iteration)
      clearTimeout(iteration.timer)
      subscription.close()
    }
  }
}

function isIdle(event: StemmaEvent): boolean {
  return (
    event.type === "session.idle" ||
    (event.type === "session.status" && event.properties.status.type === "idle")
  )
}

/** True if the run goes on with a prompt that came after `own`. */
function isLaterPrompt(event: StemmaEvent, own: UserMessage | undefined): boolean {
  if (event.type !== "message.updated" || own === undefined) return false
  const { info } = event.properties
  return info.role === "user" && info.id !== own.id && info.time.created >= own.time.created
}

/** True for the first sealed assistant message after the prompt that does not continue with tool calls. */
function isEnd(event: EventOf<"message.updated">): boolean {
  const { info } = event.properties
  // A compaction inside a turn is a message too, but not an answer.
  if (info.role !== "assistant" || info.summary) return false
  return info.time.completed !== undefined && info.finish !== "tool-calls"
}

export function replyOf(item: HistoryItem): Reply {
  const message = item.message as AssistantMessage
  const text = item.parts
    .flatMap((part) => (part.type === "text" && !part.ignored ? [part.text] : []))
    .join("\n")
  return { message, parts: item.parts, text, ...(message.error && { error: withMessage(message.error) }) }
}

function withMessage(error: MessageError): MessageError & { message: string } {
  return { ...error, message: error.data.message ?? error.name }
}
