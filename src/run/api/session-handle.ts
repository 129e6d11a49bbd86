import {
  type HistoryItem,
  type InboxItem,
  type PermissionRequest,
  type Session,
  StemmaError,
  type StemmaEvent,
  type Todo,
} from "../../protocol/index.ts"
import { sessionText, statistics, transcript, visibleItems } from "../../session/index.ts"
import { EventIterator } from "../../stream/subscriber/event-iterator.ts"
import type { Engine } from "../engine.ts"
import { commandInput, commandPrompt } from "../prompt/command-prompt.ts"
import type { PromptOptions, PromptPart } from "../prompt/prompt.ts"
import { abortTree } from "../schedule/activity.ts"
import type { Coordinator } from "../schedule/coordinator.ts"
import { findMessage } from "../schedule/waiters.ts"
import { offeredAgent } from "../step/step-plan.ts"
import { type AppendInput, appendMessage } from "./append-message.ts"
import {
  checkAgentName,
  checkText,
  messagesOptions,
  sessionEventsOptions,
  transcriptOptions,
} from "./arguments/call-options.ts"
import { readNow } from "./arguments/check.ts"
import { appendInput, promptInput, promptOptions, shellInput } from "./arguments/prompts.ts"
import { type ContextReport, contextReport } from "./context-report.ts"
import { openQuestions } from "./permissions.ts"
import { type PromptRun, sendPrompt } from "./prompt-run.ts"
import { type SessionUsage, sessionUsage } from "./session-usage.ts"
import { runShellCommand, type ShellOptions } from "./shell-command.ts"

const instructionsMax = 10_000

/** What a compaction came to. */
export interface Compaction {
  messageID: string
  summary: string
  ledger: string
  /** About how many tokens the next call had before, and has now. */
  tokensBefore: number
  tokensAfter: number
}

function compactionOf({ message, parts }: HistoryItem): Compaction {
  const part = parts.find((candidate) => candidate.type === "compaction")
  if (part?.type !== "compaction" || part.summary === undefined) {
    const error = message.role === "assistant" ? message.error : undefined
    throw new StemmaError("unavailable", error?.data.message ?? "The compaction failed.", {
      details: { messageID: message.id },
    })
  }
  const { summary, ledger = "", tokensBefore = 0, tokensAfter = 0 } = part
  return { messageID: message.id, summary, ledger, tokensBefore, tokensAfter }
}

/** One session, to talk to. It holds nothing: any number of handles, in any number of processes, may be used at once. */
export class SessionHandle {
  readonly id: string
  readonly #engine: Engine
  readonly #coordinator: Coordinator

  constructor(options: { id: string; engine: Engine; coordinator: Coordinator }) {
    this.id = options.id
    this.#engine = options.engine
    this.#coordinator = options.coordinator
  }

  /** The session's row as it is now. */
  async info(): Promise<Session> {
    return this.#engine.store.session(this.id)
  }

  /**
   * Sends a prompt. Await it for the reply, or iterate over it for the events until then. Once `admitted` resolves, the
   * prompt survives whatever happens to this process.
   */
  prompt(input: string | readonly PromptPart[], options: PromptOptions = {}): PromptRun {
    const given = readNow(() => ({ parts: promptInput(input), prompt: promptOptions(options) }))
    return sendPrompt(this.#coordinator, this.id, async () => given())
  }

  /**
   * Sends what a command of the config makes of these arguments. Where the command is a task, it is done in a session below
   * this one and the run goes on with its result.
   */
  command(name: string, args = "", options: PromptOptions = {}): PromptRun {
    const given = readNow(() => commandInput({ name, args, options }))
    return sendPrompt(this.#coordinator, this.id, async ({ directory }) => {
      const input = given()
      const project = await this.#engine.projects.get(directory)
      return commandPrompt(await project.setup(), input)
    })
  }

  /** Adds a message without asking a model: an import, something to know beforehand, a tool's result. */
  async append(input: AppendInput): Promise<HistoryItem> {
    const given = appendInput(input)
    return this.#coordinator.exclusive(this.id, (run) => appendMessage(run, given))
  }

  /**
   * Runs a shell command in the session, as a person and without asking a model: the next call of the model sees it and what it
   * printed. Gives the message with the call once the command has ended, or was aborted. `conflict` while the session is busy,
   * `denied` for what a rule forbids.
   */
  async shell(command: string, options: ShellOptions = {}): Promise<HistoryItem> {
    const given = shellInput(command, options)
    return this.#coordinator.accept(() =>
      this.#coordinator.exclusive(this.id, (run) => runShellCommand(run, given), { takesTime: true }),
    )
  }

  /** Stops what runs in it and below it, here or in another process. Does nothing if nothing runs. */
  async abort(reason = "The run was aborted."): Promise<void> {
    checkText(reason, { call: "session.abort", name: "reason" })
    await abortTree(this.#coordinator, this.id, reason)
  }

  /** The history, oldest first; what a revert hides is left out. `last` takes only so many messages. */
  async messages(options: { last?: number } = {}): Promise<readonly HistoryItem[]> {
    const { store } = this.#engine
    const { last: wanted = Number.POSITIVE_INFINITY } = messagesOptions(options)
    const { revert } = await this.info()
    const items: HistoryItem[] = []
    let to: number | undefined
    while (items.length < wanted) {
      const limit = Math.min(1000, wanted - items.length)
      const page = await store.history(this.id, { take: "end", limit, ...(to !== undefined && { to }) })
      items.unshift(...page.items)
      to = page.items[0]?.position
      if (!page.more || to === undefined) break
    }
    if (!revert) return items
    const marked = await findMessage(store, this.id, revert.messageID)
    return visibleItems(items, revert, { ...(marked && { position: marked.position }) })
  }

  /** The history as people read it. */
  async transcript(options: { last?: number } = {}): Promise<string> {
    return transcript(await this.messages(transcriptOptions(options)))
  }

  /** Only what was said. */
  async text(): Promise<string> {
    return sessionText(await this.messages())
  }

  /** The tools that were called, in the order of their first call. */
  async toolsUsed(): Promise<string[]> {
    return statistics(await this.messages()).tools
  }

  /** What the next call would send: tokens by where they come from, how full the window is, what is hidden and why. */
  async context(): Promise<ContextReport> {
    return contextReport(this.#engine, await this.info())
  }

  /** Tokens and money of this session alone, and with all its children. */
  async usage(): Promise<SessionUsage> {
    return sessionUsage(this.#engine.store, this.id)
  }

  /** About how many tokens of history the next call would send. */
  async contextSize(): Promise<number> {
    const { summary, ledger, messages, toolOutput } = (await this.context()).tokens
    return summary + ledger + messages + toolOutput
  }

  /**
   * Summarises the history but for its recent end, now or as soon as what runs has come to a step's end, and gives what came
   * of it. Nothing is lost: all of the history stays readable, searchable and forkable.
   */
  async compact(instructions?: string): Promise<Compaction> {
    const { store, clock, newID } = this.#engine
    if (instructions !== undefined) checkText(instructions, { call: "session.compact", name: "instructions" })
    if (instructions !== undefined && instructions.length > instructionsMax) {
      const limit = `at most ${instructionsMax} characters`
      throw new StemmaError("invalid", `The instructions of session.compact are too long: write ${limit}.`)
    }
    return this.#coordinator.accept(async () => {
      const id = newID("message")
      const item: InboxItem = { type: "compact", id, sessionID: this.id, time: clock.now() }
      await store.admit({ ...item, ...(instructions !== undefined && { instructions }) })
      const done = this.#coordinator.waiters.addCompaction(this.id, id)
      this.#coordinator.wake(this.id)
      return compactionOf(await done)
    })
  }

  /** Who answers from now on. */
  async setAgent(name: string): Promise<Session> {
    const { store, projects } = this.#engine
    checkAgentName(name, "session.setAgent")
    const session = await this.info()
    const agent = offeredAgent(await (await projects.get(session.directory)).setup(), name)
    await store.commit({ ops: [{ op: "session.patch", sessionID: this.id, set: { agent: agent.name } }] })
    return this.info()
  }

  async todos(): Promise<Todo[]> {
    return this.#engine.store.todos(this.id)
  }

  /** Questions that wait for a person, also those of the sessions below it: `path` says whose. */
  async questions(): Promise<PermissionRequest[]> {
    return openQuestions(this.#engine.store, this.id)
  }

  /** Events of this session from now on, and questions of those below it. */
  events(options: { signal?: AbortSignal } = {}): AsyncIterableIterator<StemmaEvent, undefined> {
    const { signal } = sessionEventsOptions(options)
    const scope = { sessionID: this.id }
    return new EventIterator(() =>
      this.#engine.hub.subscribe({ scope, questions: true, ...(signal && { signal }) }),
    )
  }
}
