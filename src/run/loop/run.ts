import type { ModelTool } from "../../models/model.ts"
import type { HistoryItem, InboxItem, NewID, Session, SessionIDs } from "../../protocol/index.ts"
import type { Op } from "../../stores/commit.ts"
import type { HistoryMemo } from "../context/history-memo.ts"
import type { Engine } from "../engine.ts"
import { Approvals } from "../permission/approvals.ts"
import type { Project, Setup } from "../project.ts"
import { idsAfter } from "../prompt/ids-after.ts"
import type { Coordinator } from "../schedule/coordinator.ts"
import type { LeaseKeeper } from "../schedule/lease-keeper.ts"
import { RunWriter } from "../schedule/writer.ts"
import type { ReadFiles } from "../step/tools/read-files.ts"
import { RunTelemetry } from "../telemetry/run-telemetry.ts"

/** The abort reason when the process closes. The step is sealed as interrupted, not as aborted. */
export class Closing extends Error {
  override name = "Closing"
}

/** The abort reason when a caller asked the run to stop. */
export class Aborted extends Error {
  override name = "Aborted"
}

/** How a run takes part in the limit on turns that start at the same time. */
export interface RunPlace {
  /** Called when the run starts to wait: for its model, a person, a command or a child. */
  onAsking: () => void
  /** Resolves when the turn of a prompt that was admitted at this time may start. */
  onTurn: (admittedMs: number) => Promise<void>
}

/**
 * One session's run in this process, from the claim of the lease to its release. All writes to the session's history go
 * through `writer`.
 */
export class Run {
  readonly engine: Engine
  readonly project: Project
  readonly writer: RunWriter
  readonly memo: HistoryMemo
  readonly approvals: Approvals
  readonly reads: ReadFiles
  readonly telemetry: RunTelemetry
  /** Starts and stops runs of other sessions: the children that tasks run in. */
  readonly coordinator: Coordinator
  /** The session row as it was last read. Fields that this run changes are kept up to date here. */
  session: Session
  /** True until the first permission check: `session` was just read with the claim, so that check need not read it. */
  isSessionFresh = true
  /** How many steps the current turn has made. */
  steps = 0
  /** The settled tool calls of the current turn, in order. Doom loops are found here. */
  readonly calls: { tool: string; input: string; result: string }[] = []
  /** The user message that the current turn answers. */
  promptID: string | undefined
  /** The session's last run ended normally in this process, so there is nothing to recover. */
  readonly isUntouched: boolean
  /** Ids of the tool parts whose output the next step hides from the model. */
  partsToHide: string[] | undefined
  /** How often in a row the provider refused a call because the context was too long. */
  overflows = 0
  /** How many compactions were made because of those refusals. */
  overflowCompactions = 0
  /** A compaction failed in the current turn. It is not tried again in this turn, since it would fail again. */
  hasFailedToCompact = false
  /** The last step that was preceded by a compaction, and how many steps in a row were. */
  compactionsInRow = { step: -1, inRow: 0 }
  /** The tools that the last step offered to the model. */
  offered: readonly ModelTool[] | undefined
  /** A person allowed this run to exceed its budget. */
  isOverBudget = false
  readonly #ids: SessionIDs
  readonly #onAnswered: ((items: readonly HistoryItem[]) => void) | undefined
  readonly #onRefused: ((promptID: string, error: unknown) => void) | undefined
  readonly #onAsking: RunPlace["onAsking"] | undefined
  readonly #onTurn: RunPlace["onTurn"] | undefined
  #turnAbort = new AbortController()
  #closing: Closing | undefined
  #inboxQueue: Promise<void> = Promise.resolve()

  constructor(
    options: {
      engine: Engine
      project: Project
      session: Session
      lease: LeaseKeeper
      memo: HistoryMemo
      reads: ReadFiles
      coordinator: Coordinator
      /** Called when a turn is over, with the items of the turn and earlier ones. */
      onAnswered?: (items: readonly HistoryItem[]) => void
      /** Called when a prompt or a requested compaction is refused for good. */
      onRefused?: (promptID: string, error: unknown) => void
      /** Called when a person answered a permission question with `always`. */
      onGranted?: () => void
      isUntouched?: boolean
    } & Partial<RunPlace>,
  ) {
    const { engine, project } = options
    this.#onAnswered = options.onAnswered
    this.#onRefused = options.onRefused
    this.#onAsking = options.onAsking
    this.#onTurn = options.onTurn
    this.isUntouched = options.isUntouched ?? false
    this.engine = engine
    this.project = project
    this.#ids = idsAfter(options.memo.items, engine.newID)
    this.session = options.session
    this.memo = options.memo
    this.reads = options.reads
    this.coordinator = options.coordinator
    const { lease, coordinator } = options
    this.writer = new RunWriter(engine.store, { lease, metrics: engine.metrics, pace: coordinator.pace })
    this.telemetry = new RunTelemetry({ engine, sessionID: options.session.id })
    this.approvals = new Approvals({
      engine,
      writer: this.writer,
      project,
      setup: () => project.setup(),
      onGranted: options.onGranted,
    })
  }

  get sessionID(): string {
    return this.session.id
  }

  /** A new id of this session. Messages and parts have higher ids than those that the session has already. */
  readonly newID: NewID = (kind) => this.#ids.next(kind)

  /** Tells of a message whose id a caller chose: later messages have higher ids. */
  startIDsAbove(messageID: string): void {
    this.#ids.startAbove("message", messageID)
  }

  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  /** Aborted when the turn must stop: a caller aborted it, the process closes, or the lease is lost. */
  get signal(): AbortSignal {
    return this.#signal
  }

  #signal: AbortSignal = new AbortController().signal

  async setup(): Promise<Setup> {
    return this.project.setup()
  }

  /** A prompt is being answered. An abort in the inbox is meant for this turn. */
  isInTurn = false
  /** Permission questions of the previous writer are loaded, so answers in the inbox can be matched with them. */
  isReady = false

  beginTurn(): void {
    this.isInTurn = true
    this.#turnAbort = new AbortController()
    this.#signal = AbortSignal.any([this.#turnAbort.signal, this.writer.signal])
    if (this.#closing) this.#turnAbort.abort(this.#closing)
    this.steps = 0
    this.overflows = 0
    this.overflowCompactions = 0
    this.hasFailedToCompact = false
    this.compactionsInRow = { step: -1, inRow: 0 }
    this.calls.length = 0
  }

  abort(reason: string): void {
    this.#turnAbort.abort(new Aborted(reason))
  }

  /** Stops the run because the process closes: no new step starts, and the current one is sealed as interrupted. */
  close(): void {
    this.#closing ??= new Closing("The process that ran this step was closed.")
    this.#turnAbort.abort(this.#closing)
  }

  /**
   * Lets callers that wait for an answer check for it. Does nothing if the history has not grown since the last time.
   */
  notifyAnswered(): void {
    if (this.memo.notifiedCount === this.memo.count) return
    this.memo.notifiedCount = this.memo.count
    this.#onAnswered?.(this.memo.items)
  }

  /** The run is about to wait for its model, a person, a command or a child: other runs may start meanwhile. */
  notifyWaiting(): void {
    this.#onAsking?.()
  }

  /** Waits until the turn of a prompt that was admitted at this time may start. */
  async awaitTurn(admittedMs: number): Promise<void> {
    await this.#onTurn?.(admittedMs)
  }

  /** Rejects the promise of the caller that sent a prompt or a compaction request: it can never be taken. */
  notifyRefused(promptID: string, error: unknown): void {
    this.#onRefused?.(promptID, error)
  }

  /** Handles the inbox items that do not wait for the next step: answers to permission questions, and aborts. */
  async handleInbox(): Promise<void> {
    return this.#serialize(async () => {
      if (!this.isReady) return
      for (const item of await this.engine.store.inbox(this.sessionID)) await this.#handleItem(item)
    })
  }

  /** For work outside a turn, such as a shell command: handles aborts that were admitted after the work began. */
  async handleAborts(before: ReadonlySet<string>): Promise<void> {
    return this.#serialize(async () => {
      const items = await this.engine.store.inbox(this.sessionID)
      for (const item of items)
        if (item.type === "abort" && !before.has(item.id)) await this.#handleItem(item)
    })
  }

  /** Settles open questions that an `always` answer in another session now allows. */
  async recheckQuestions(): Promise<void> {
    if (this.approvals.isWaiting) await this.#serialize(() => this.approvals.recheck())
  }

  /** Takes the aborts that were admitted before the first prompt: they were meant for an earlier turn. */
  async takeOldAborts(): Promise<{ wasAborted: boolean }> {
    let wasAborted = false
    await this.#serialize(async () => {
      const { sessionID } = this
      // An abort also cancels the compactions that were requested before it.
      const takes: Op[] = []
      for (const item of await this.engine.store.inbox(sessionID)) {
        if (item.type === "prompt") return
        if (item.type !== "abort" && item.type !== "compact") continue
        takes.push({ op: "inbox.take", sessionID, itemID: item.id })
        if (item.type === "compact") continue
        await this.writer.commit(takes.splice(0))
        wasAborted = true
      }
    })
    return { wasAborted }
  }

  /** Runs inbox work one after the other: two at the same time would take the same item twice. */
  async #serialize(work: () => Promise<void>): Promise<void> {
    const next = this.#inboxQueue.then(async () => {
      if (!this.writer.signal.aborted) await work()
    })
    this.#inboxQueue = next.catch(() => {})
    return next
  }

  async #handleItem(item: InboxItem): Promise<void> {
    if (item.type === "answer") await this.approvals.answer(item)
    // Between turns, an abort behind a prompt stays in the inbox until that prompt is taken: it is meant for that
    // prompt.
    if (item.type === "abort" && this.isInTurn) {
      await this.writer.commit([{ op: "inbox.take", sessionID: this.sessionID, itemID: item.id }])
      this.abort(item.reason ?? "The run was aborted.")
    }
  }
}
