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

/** The result of a compaction. */
export interface Compaction {
  messageID: string
  summary: string
  ledger: string
  /** The estimated size of the next model call, before and after. */
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

/** The calls of one session. A handle has no state: any number of handles, in any number of processes, work at once. */
export class SessionHandle {
  /** The id of the session. */
  readonly id: string
  readonly #engine: Engine
  readonly #coordinator: Coordinator

  constructor(options: { id: string; engine: Engine; coordinator: Coordinator }) {
    this.id = options.id
    this.#engine = options.engine
    this.#coordinator = options.coordinator
  }

  /** The session's metadata as it is now. */
  async info(): Promise<Session> {
    return this.#engine.store.session(this.id)
  }

  /**
   * Sends a prompt. Await the returned run for the reply, or iterate over it for the events until the reply. Once its
   * `admitted` resolves, the prompt is durable and survives a crash.
   */
  prompt(input: string | readonly PromptPart[], options: PromptOptions = {}): PromptRun {
    const given = readNow(() => ({ parts: promptInput(input), prompt: promptOptions(options) }))
    return sendPrompt(this.#coordinator, this.id, async () => given())
  }

  /**
   * Sends the prompt that a command of the config makes of these arguments. A command that is a subtask runs in a child
   * session, and the run continues with its result.
   */
  command(name: string, args = "", options: PromptOptions = {}): PromptRun {
    const given = readNow(() => commandInput({ name, args, options }))
    return sendPrompt(this.#coordinator, this.id, async ({ directory }) => {
      const input = given()
      const project = await this.#engine.projects.get(directory)
      return commandPrompt(await project.setup(), input)
    })
  }

  /** Adds a message without calling a model: imported text, background knowledge, or the result of a tool. */
  async append(input: AppendInput): Promise<HistoryItem> {
    const given = appendInput(input)
    return this.#coordinator.exclusive(this.id, (run) => appendMessage(run, given))
  }

  /**
   * Runs a shell command for a person, without calling a model. The next model call sees the command and its output.
   * Resolves with the message of the call when the command has ended or was aborted. Throws `conflict` while the session is
   * busy, `denied` for a command that a rule forbids.
   */
  async shell(command: string, options: ShellOptions = {}): Promise<HistoryItem> {
    const given = shellInput(command, options)
    return this.#coordinator.accept(() =>
      this.#coordinator.exclusive(this.id, (run) => runShellCommand(run, given), { takesTime: true }),
    )
  }

  /** Aborts the run of the session and of its descendants, in any process. Does nothing for an idle session. */
  async abort(reason = "The run was aborted."): Promise<void> {
    checkText(reason, { call: "session.abort", name: "reason" })
    await abortTree(this.#coordinator, this.id, reason)
  }

  /** The history, oldest message first, without messages that a revert hides. `last` limits the number of messages. */
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

  /** The history as text for people. */
  async transcript(options: { last?: number } = {}): Promise<string> {
    return transcript(await this.messages(transcriptOptions(options)))
  }

  /** The text of the history, without tools and reasoning. */
  async text(): Promise<string> {
    return sessionText(await this.messages())
  }

  /** The tools that were called, in the order of their first call. */
  async toolsUsed(): Promise<string[]> {
    return statistics(await this.messages()).tools
  }

  /** What the next model call would send: tokens by source, how full the window is, what is hidden and why. */
  async context(): Promise<ContextReport> {
    return contextReport(this.#engine, await this.info())
  }

  /** Tokens and cost of this session alone, and of this session with all its descendants. */
  async usage(): Promise<SessionUsage> {
    return sessionUsage(this.#engine.store, this.id)
  }

  /** The estimated tokens of history in the next model call. */
  async contextSize(): Promise<number> {
    const { summary, ledger, messages, toolOutput } = (await this.context()).tokens
    return summary + ledger + messages + toolOutput
  }

  /**
   * Compacts the history: summarises all but the most recent turns, now or at the end of the running step. The whole history
   * stays readable, searchable and forkable.
   */
  async compact(instructions?: string): Promise<Compaction> {
    const { store, clock, newID } = this.#engine
    if (instructions !== undefined) checkText(instructions, { call: "session.compact", name: "instructions" })
    if (instructions !== undefined && instructions.length > instructionsMax) {
      const limit = `at most ${instructionsMax} characters`
      throw new StemmaError("invalid", `The instructions of session.compact are too long. Write ${limit}.`)
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

  /** Sets the agent that answers from now on. */
  async setAgent(name: string): Promise<Session> {
    const { store, projects } = this.#engine
    checkAgentName(name, "session.setAgent")
    const session = await this.info()
    const agent = offeredAgent(await (await projects.get(session.directory)).setup(), name)
    await store.commit({ ops: [{ op: "session.patch", sessionID: this.id, set: { agent: agent.name } }] })
    return this.info()
  }

  /** The session's todo list. */
  async todos(): Promise<Todo[]> {
    return this.#engine.store.todos(this.id)
  }

  /** The open permission questions of this session and its descendants; `path` names the asking session. */
  async questions(): Promise<PermissionRequest[]> {
    return openQuestions(this.#engine.store, this.id)
  }

  /** The events of this session from now on, and the permission questions of its descendants. */
  events(options: { signal?: AbortSignal } = {}): AsyncIterableIterator<StemmaEvent, undefined> {
    const { signal } = sessionEventsOptions(options)
    const scope = { sessionID: this.id }
    return new EventIterator(() =>
      this.#engine.hub.subscribe({ scope, questions: true, ...(signal && { signal }) }),
    )
  }
}
