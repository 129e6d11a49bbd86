import type { ModelTool } from "../../models/model.ts"
import type { HistoryItem, InboxItem, Session } from "../../protocol/index.ts"
import type { Op } from "../../stores/commit.ts"
import type { HistoryMemo } from "../context/history-memo.ts"
import type { Engine } from "../engine.ts"
import { Approvals } from "../permission/approvals.ts"
import type { Project, Setup } from "../project.ts"
import type { Coordinator } from "../schedule/coordinator.ts"
import type { LeaseKeeper } from "../schedule/lease-keeper.ts"
import { RunWriter } from "../schedule/writer.ts"
import type { ReadFiles } from "../step/tools/read-files.ts"
import { RunTelemetry } from "../telemetry/run-telemetry.ts"

/** The reason with which a run is cut off because its process closes: it is sealed as interrupted, not as aborted. */
export class Closing extends Error {
  override name = "Closing"
}

/** Somebody asked the run to stop. */
export class Aborted extends Error {
  override name = "Aborted"
}

/**
 * One session's run in this process, from the claim of the lease to its release. Everything that writes the session's
 * history goes through its writer.
 */
export class Run {
  readonly engine: Engine
  readonly project: Project
  readonly writer: RunWriter
  readonly memo: HistoryMemo
  readonly approvals: Approvals
  readonly reads: ReadFiles
  readonly telemetry: RunTelemetry
  /** Runs of other sessions in this process; tasks start and abort them through it. */
  readonly coordinator: Coordinator
  /** The row as it was last read; fields that this run changes are kept up to date. */
  session: Session
  /** The row was read a moment ago, with the claim, and nobody has asked for the rules in it yet. */
  isRowFresh = true
  /** Steps of the present turn. */
  steps = 0
  /** Calls of the present turn, settled, in order: what a doom loop is found in. */
  readonly calls: { tool: string; input: string; result: string }[] = []
  /** The user message that the present turn answers. */
  promptID: string | undefined
  /** A run of this process ended in order just before, so there is nothing to recover. */
  readonly isUntouched: boolean
  /** Calls whose output the next step hides from the model. */
  pruning: string[] | undefined
  /** How often the provider has said in a row that the context is too long. */
  overflows = 0
  /** How often it was compacted for that. */
  overflowCompactions = 0
  /** A compaction of the present turn led to nothing: another one would not either. */
  hasFailedToCompact = false
  /** The last step before which there was a compaction, and how many steps in a row had one. */
  compacted = { step: -1, inRow: 0 }
  /** The tools of the last step. */
  offered: readonly ModelTool[] | undefined
  /** A person has let this run go past its budget. */
  isOverBudget = false
  readonly #onAnswered: ((items: readonly HistoryItem[]) => void) | undefined
  readonly #onRefused: ((promptID: string, error: unknown) => void) | undefined
  readonly #onAsking: (() => void) | undefined
  #turn = new AbortController()
  #closing: Closing | undefined
  #handling: Promise<void> = Promise.resolve()

  constructor(options: {
    engine: Engine
    project: Project
    session: Session
    lease: LeaseKeeper
    memo: HistoryMemo
    reads: ReadFiles
    coordinator: Coordinator
    /** Called when a turn is over, with all items of it and those before. */
    onAnswered?: (items: readonly HistoryItem[]) => void
    onRefused?: (promptID: string, error: unknown) => void
    /** Called when a person has allowed something for good. */
    onGranted?: () => void
    isUntouched?: boolean
    /** Called when the run has nothing to do but to wait for its model. */
    onAsking?: (() => void) | undefined
  }) {
    const { engine, project } = options
    this.#onAnswered = options.onAnswered
    this.#onRefused = options.onRefused
    this.#onAsking = options.onAsking
    this.isUntouched = options.isUntouched ?? false
    this.engine = engine
    this.project = project
    this.session = options.session
    this.memo = options.memo
    this.reads = options.reads
    this.coordinator = options.coordinator
    this.writer = new RunWriter(engine.store, { lease: options.lease, metrics: engine.metrics })
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

  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  /** Aborted when the turn must stop: by a person, because the process closes, or because the lease is lost. */
  get signal(): AbortSignal {
    return this.#signal
  }

  #signal: AbortSignal = new AbortController().signal

  async setup(): Promise<Setup> {
    return this.project.setup()
  }

  /** A prompt is being answered: an abort is about that. */
  isInTurn = false
  /** What the writer before this one left is known: answers in the inbox find their questions. */
  isReady = false

  beginTurn(): void {
    this.isInTurn = true
    this.#turn = new AbortController()
    this.#signal = AbortSignal.any([this.#turn.signal, this.writer.signal])
    if (this.#closing) this.#turn.abort(this.#closing)
    this.steps = 0
    this.overflows = 0
    this.overflowCompactions = 0
    this.hasFailedToCompact = false
    this.compacted = { step: -1, inRow: 0 }
    this.calls.length = 0
  }

  abort(reason: string): void {
    this.#turn.abort(new Aborted(reason))
  }

  /** Cuts the run off: nothing new is begun, what runs is sealed as interrupted. */
  close(): void {
    this.#closing ??= new Closing("The process that ran it was closed.")
    this.#turn.abort(this.#closing)
  }

  /** Tells those who wait for an answer that there may be one. */
  tellAnswered(): void {
    if (this.memo.told === this.memo.count) return
    this.memo.told = this.memo.count
    this.#onAnswered?.(this.memo.items)
  }

  /** The model is about to be asked, or something else that takes its time. */
  tellAsking(): void {
    this.#onAsking?.()
  }

  /** Tells whoever sent a prompt that it can never be taken. */
  tellRefused(promptID: string, error: unknown): void {
    this.#onRefused?.(promptID, error)
  }

  /** Acts at once on what does not wait for the next step: answers and aborts. */
  async handleInbox(): Promise<void> {
    return this.#oneByOne(async () => {
      if (!this.isReady) return
      for (const item of await this.engine.store.inbox(this.sessionID)) await this.#handle(item)
    })
  }

  /** The same for what is no answer to a prompt: only aborts, but for those that were there before it began. */
  async handleAborts(before: ReadonlySet<string>): Promise<void> {
    return this.#oneByOne(async () => {
      const items = await this.engine.store.inbox(this.sessionID)
      for (const item of items) if (item.type === "abort" && !before.has(item.id)) await this.#handle(item)
    })
  }

  /** Settles the questions that a person's answer to another session has allowed. */
  async recheckQuestions(): Promise<void> {
    if (this.approvals.isWaiting) await this.#oneByOne(() => this.approvals.recheck())
  }

  /** Takes the aborts that came before the first prompt: they were meant for what was there before this run. */
  async takeOldAborts(): Promise<{ wasAborted: boolean }> {
    let wasAborted = false
    await this.#oneByOne(async () => {
      const { sessionID } = this
      // Of a compaction that was asked for before it, an abort wants no more than of anything else.
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

  /** Two at a time would take the same item twice. */
  async #oneByOne(work: () => Promise<void>): Promise<void> {
    const next = this.#handling.then(async () => {
      if (!this.writer.signal.aborted) await work()
    })
    this.#handling = next.catch(() => {})
    return next
  }

  async #handle(item: InboxItem): Promise<void> {
    if (item.type === "answer") await this.approvals.answer(item)
    // Before a turn, an abort that follows a prompt waits for that prompt to be taken.
    if (item.type === "abort" && this.isInTurn) {
      await this.writer.commit([{ op: "inbox.take", sessionID: this.sessionID, itemID: item.id }])
      this.abort(item.reason ?? "The run was aborted.")
    }
  }
}
