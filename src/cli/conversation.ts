import type { SessionClient } from "../client/index.ts"
import { createID, type Message, type Part, type PermissionRequest, StemmaError } from "../protocol/index.ts"
import type { Allowances } from "./allowances.ts"
import type { Printer } from "./terminal/printer.ts"
import type { Answer, Questions } from "./terminal/questions.ts"

export interface PromptInput {
  text: string
  agent?: string
  model?: string
}

interface Reply {
  message: Message
  parts: Part[]
}

/** How long to wait for the last events after the reply. */
const lastEventsMs = 2000
/** How long a lost server may take to come back. */
const returnMs = 60_000
const retryMs = 500

/** Sends one prompt, prints its answer while it is written, and asks the person its questions. */
export class Conversation {
  readonly #session: SessionClient
  readonly #printer: Printer
  /** Undefined if no person can be asked. */
  readonly #questions: Questions | undefined
  readonly #allowances: Allowances
  readonly #over = new AbortController()
  readonly #sealed = new Set<string>()
  #wasRefused = false
  #awaited: { id: string; resolve: () => void } | undefined

  constructor(
    session: SessionClient,
    parts: { printer: Printer; questions: Questions | undefined; allowances: Allowances },
  ) {
    this.#session = session
    this.#printer = parts.printer
    this.#questions = parts.questions
    this.#allowances = parts.allowances
  }

  /** True if a tool call of the session, or a question of one of its tasks, was refused. */
  get wasRefused(): boolean {
    return this.#wasRefused
  }

  /** Resolves with the message that ends the answer. */
  async prompt(input: PromptInput): Promise<Message> {
    const events = this.#session.events({ signal: this.#over.signal })
    await events.ready
    const following = this.#followEvents(events)
    try {
      await this.#askOpenQuestions()
      const reply = await Promise.race([this.#ask(input), failWhenEnded(following)])
      await this.#waitForLastEvents(reply.message.id, following)
      await this.#printer.end(reply.parts)
      return reply.message
    } finally {
      this.#over.abort()
      this.#questions?.close()
      await following.catch(() => {})
    }
  }

  /** Stops waiting for the answer. */
  close(): void {
    this.#over.abort()
  }

  async #followEvents(events: ReturnType<SessionClient["events"]>): Promise<void> {
    for await (const event of events) {
      const { type, properties } = event
      if (type === "permission.asked") this.#answer(properties.request)
      if (type === "permission.replied") this.#questions?.drop(properties.permissionID)
      if (type === "message.part.updated" && isRefusedCall(properties.part)) this.#wasRefused = true
      await this.#printer.event(event)
      if (type !== "message.updated" || properties.info.role !== "assistant") continue
      if (properties.info.time.completed !== undefined) this.#seal(properties.info.id)
    }
  }

  /** A message id identifies a prompt, so a retry after a lost connection asks for the same answer. */
  async #ask(input: PromptInput): Promise<Reply> {
    const messageID = createID("message", Date.now())
    let lostAt: number | undefined
    for (;;) {
      try {
        return await this.#session.ask({ ...input, messageID }, { signal: this.#over.signal })
      } catch (error) {
        if (!StemmaError.is(error, "unavailable") || this.#over.signal.aborted) throw error
        if (lostAt === undefined) this.#printer.note(`${error.message} Waiting for the server.`)
        lostAt ??= performance.now()
        if (performance.now() - lostAt > returnMs) throw error
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }

  #seal(messageID: string): void {
    this.#sealed.add(messageID)
    if (this.#awaited?.id === messageID) this.#awaited.resolve()
  }

  async #waitForLastEvents(id: string, following: Promise<void>): Promise<void> {
    if (this.#sealed.has(id)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#awaited = { id, resolve }
    const timer = setTimeout(resolve, lastEventsMs)
    await Promise.race([promise, following])
    clearTimeout(timer)
  }

  async #askOpenQuestions(): Promise<void> {
    if (!this.#questions && this.#allowances.isEmpty) return
    // Without a terminal, a question from before this prompt is for somebody else to refuse.
    for (const request of await this.#session.questions())
      if (this.#questions || this.#allowances.covers(request)) this.#answer(request)
  }

  #answer(request: PermissionRequest): void {
    this.#askAndReply(request).catch((error: unknown) => {
      // Another person was faster, or the question ended with its run.
      if (StemmaError.is(error, "conflict") || StemmaError.is(error, "not_found")) return
      this.#printer.note(
        `The reply was not accepted: ${error instanceof Error ? error.message : String(error)}`,
      )
    })
  }

  async #askAndReply(request: PermissionRequest): Promise<void> {
    const answer = await this.#answerTo(request)
    if (answer?.reply === "reject") this.#wasRefused = true
    if (answer) await this.#session.reply({ permissionID: request.id, ...answer })
  }

  async #answerTo(request: PermissionRequest): Promise<Answer | undefined> {
    if (this.#allowances.covers(request)) return { reply: "once" }
    if (this.#questions) return this.#questions.ask(request)
    return { reply: "reject", feedback: "There is no person to ask: this prompt came without a terminal." }
  }
}

/** A stream that ends by itself has failed. */
function failWhenEnded(following: Promise<void>): Promise<never> {
  return following.then(() => {
    throw new StemmaError(
      "unavailable",
      "The event stream of the session ended. Read the session to see its state.",
    )
  })
}

function isRefusedCall(part: Part): boolean {
  return part.type === "tool" && part.state.status === "error" && part.state.metadata?.refused === true
}
