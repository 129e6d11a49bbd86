import { type HistoryItem, type InboxItem, type Session, StemmaError } from "../../protocol/index.ts"
import type { Watched } from "../../stores/store.ts"
import type { Engine } from "../engine.ts"
import { loop } from "../loop/loop.ts"
import { isUnfinishedEnd, recoverRun } from "../loop/recovery.ts"
import { Run, type RunPlace } from "../loop/run.ts"
import { ChildSlots } from "../tasks/child-slots.ts"
import { CommitPace } from "./commit-pace.ts"
import { LeaseKeeper } from "./lease-keeper.ts"
import { Limiter, Place } from "./limiter.ts"
import { type CachedSession, SessionCache } from "./session-cache.ts"
import { Waiters } from "./waiters.ts"

/** Inbox items of other processes are handled within 100 ms; `store.watch` may take most of that. */
const inboxDelayMs = 15
const serveDelayMs = 300
const exclusivePatienceMs = 2000
const turnLookMs = 5
/** After this many failed claims, assume that another process runs the session. */
const claimAttemptsMax = 4
/** The number of last messages that show whether a history ends in the middle of a turn. */
const lastItems = 8
/** Interrupted runs that are older than this are not continued at start-up. */
const recoveredAgeMs = 24 * 60 * 60 * 1000

interface Active {
  /** Absent while the lease is being claimed. */
  run?: Run
  /** Something was admitted during the run: start again after it. */
  again: boolean
  /** What the run waits for before it can start: a free slot of this process, or the lease. */
  waitsFor?: "place" | "lease" | undefined
  isExclusive: boolean
  /** Ids of aborts that were admitted before this work started and do not apply to it. */
  oldAborts?: ReadonlySet<string>
  done: Promise<void>
}

/**
 * Keeps one run going for every session that has work, in this process or in the process that holds the session's lease. Only
 * the coordinator starts runs.
 */
export class Coordinator {
  readonly engine: Engine
  readonly #active = new Map<string, Active>()
  readonly #cache = new SessionCache()
  readonly #touched = new Set<string>()
  readonly #stopping = new AbortController()
  /**
   * Limits how many turns start at the same time, in the order in which their prompts were admitted. Until the model is
   * called, a turn only uses this process's CPU, so a thousand prompts at once are started a few at a time.
   */
  readonly #beginning = new Limiter(4)
  readonly #unwatch: () => void
  #timer: NodeJS.Timeout | undefined
  readonly waiters: Waiters
  readonly childSlots = new ChildSlots()
  readonly pace: CommitPace
  isDraining = false

  constructor(engine: Engine) {
    this.engine = engine
    this.waiters = new Waiters(engine.store)
    this.pace = new CommitPace(engine.store, { slowMs: engine.timing.slowCommitMs })
    this.#unwatch = engine.store.watch((change) => this.#watched(change))
  }

  isRunning(sessionID: string): boolean {
    return this.#active.get(sessionID)?.isExclusive === false
  }

  /** How many sessions have work that has not started, by what they wait for. */
  waiting(): { place: number; lease: number } {
    const waiting = { place: 0, lease: 0 }
    for (const { waitsFor } of this.#active.values()) if (waitsFor) waiting[waitsFor]++
    return waiting
  }

  /** Runs work that accepts a prompt. Throws `unavailable` while this process is closing. */
  async accept<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.engine.slices.turn()
    if (turn) await turn
    if (this.isDraining) {
      throw new StemmaError("unavailable", "Stemma is closing and accepts no more prompts. Open it again.")
    }
    return work()
  }

  /** Starts a run for a session with new inbox items, or notifies the run that is going. */
  wake(sessionID: string): void {
    const active = this.#active.get(sessionID)
    if (!active) {
      if (this.#stopping.signal.aborted) this.waiters.fail(sessionID, closed())
      else this.#start(sessionID)
      return
    }
    active.again = true
    this.#handle(active)
  }

  /**
   * Resolves when the run that has just ended a turn has set its session to idle, or has gone on to the next turn. Resolves
   * after two seconds in any case: the next prompt may wait for a process that holds the lease.
   */
  async afterTurn(sessionID: string): Promise<void> {
    const active = this.#active.get(sessionID)
    const until = performance.now() + exclusivePatienceMs
    while (active && this.#active.get(sessionID) === active && !active.run?.isInTurn) {
      if (performance.now() > until) return
      await Promise.race([active.done, new Promise((resolve) => setTimeout(resolve, turnLookMs))])
    }
  }

  /** Aborts the turn that this process runs for a session. False if this process is not answering a prompt of it. */
  abort(sessionID: string, reason: string): boolean {
    const run = this.#active.get(sessionID)?.run
    if (!run?.isInTurn) return false
    run.abort(reason)
    return true
  }

  /**
   * Writes a session outside of a run, under its lease. Throws `conflict` while a run is going. Work that `takesTime` sets the
   * status to busy and can be aborted. Items that are admitted meanwhile are handled afterwards.
   */
  async exclusive<T>(
    sessionID: string,
    work: (run: Run) => Promise<T>,
    { takesTime = false }: { takesTime?: boolean } = {},
  ): Promise<T> {
    const until = performance.now() + exclusivePatienceMs
    for (let active = this.#active.get(sessionID); active; active = this.#active.get(sessionID)) {
      // A run that is about to end is awaited: its caller may already have the answer.
      if (active.run?.isInTurn || performance.now() > until) throw busy(sessionID)
      await Promise.race([active.done, new Promise((resolve) => setTimeout(resolve, 10))])
    }
    const done = Promise.withResolvers<void>()
    const active: Active = { again: false, isExclusive: true, done: done.promise }
    this.#active.set(sessionID, active)
    try {
      const lease = await this.#claimUntil(sessionID, until)
      const cached = this.#cache.take(sessionID)
      try {
        const run = await this.#open(sessionID, { lease, cached })
        if (run.memo.last && !run.memo.last.sealed) await recoverRun(run, { mayGoOn: false })
        run.beginTurn()
        const joining = run.telemetry.joinCaller()
        if (joining) await joining
        return takesTime ? await this.#busyWith(run, { active, work }) : await work(run)
      } finally {
        this.#cache.rest(sessionID)
        try {
          await lease.release()
        } finally {
          if (takesTime) this.engine.hub.setStatus(sessionID, { type: "idle" })
        }
      }
    } finally {
      this.#active.delete(sessionID)
      done.resolve()
      if (active.again) this.wake(sessionID)
    }
  }

  async #busyWith<T>(
    run: Run,
    { active, work }: { active: Active; work: (run: Run) => Promise<T> },
  ): Promise<T> {
    const { hub, store } = this.engine
    const { sessionID } = run
    active.oldAborts = new Set((await store.inbox(sessionID)).map(({ id }) => id))
    active.run = run
    if (this.#stopping.signal.aborted) run.close()
    hub.setStatus(sessionID, { type: "busy" })
    try {
      return await work(run)
    } finally {
      delete active.run
      const items = await store.inbox(sessionID).catch((): InboxItem[] => [])
      if (items.some(isWork)) active.again = true
    }
  }

  /** Accepts no more prompts and waits for the runs that are going. */
  async drain(): Promise<void> {
    this.isDraining = true
    while (this.#active.size > 0) await Promise.all([...this.#active.values()].map(({ done }) => done))
  }

  /** Interrupts all runs: their open messages are sealed as interrupted. */
  stop(): void {
    this.#stopping.abort()
    for (const { run } of this.#active.values()) run?.close()
  }

  async close(): Promise<void> {
    this.#unwatch()
    clearTimeout(this.#timer)
    await this.drain()
  }

  /** Continues the runs that dead processes left, in the most recently used sessions. */
  async recoverAll(options: { sessions: number }): Promise<void> {
    const { store } = this.engine
    let cursor: string | undefined
    const updated = { from: this.engine.clock.now() - recoveredAgeMs }
    for (let seen = 0; seen < options.sessions && !this.isDraining; ) {
      const page = await store.sessions({ limit: 100, updated, ...(cursor !== undefined && { cursor }) })
      for (const session of page.items) {
        if (this.isDraining) return
        if ((await this.#isLeft(session)) && !this.isDraining) this.wake(session.id)
      }
      seen += page.items.length
      cursor = page.next
      if (cursor === undefined) return
    }
  }

  async #isLeft(session: Session): Promise<boolean> {
    const { store } = this.engine
    const items = await store.inbox(session.id)
    if (items.some(isWork)) return true
    const last = (await store.history(session.id, { limit: lastItems })).items
    return last.at(-1)?.sealed === false || isUnfinishedEnd(last)
  }

  #start(sessionID: string): void {
    const active: Active = { again: false, isExclusive: false, done: Promise.resolve() }
    this.#active.set(sessionID, active)
    active.done = this.#hold(sessionID, active).finally(() => {
      this.#active.delete(sessionID)
      if (active.again) this.wake(sessionID)
    })
    active.done.catch(() => {})
  }

  async #hold(sessionID: string, active: Active): Promise<void> {
    const place = new Place(this.#beginning)
    const leave = () => place.leave()
    const enter = async (sinceMs: number) => {
      active.waitsFor = "place"
      await place.enter(sinceMs)
      active.waitsFor = undefined
    }
    await enter(this.engine.clock.now())
    try {
      if (this.#stopping.signal.aborted) return this.waiters.fail(sessionID, closed())
      const lease = await this.#claimOrLeave(sessionID, { active, leave })
      if (lease) await this.#run(sessionID, { active, lease, onAsking: leave, onTurn: enter })
    } catch (error) {
      active.again = false
      const isWaitedFor = this.waiters.has(sessionID)
      this.waiters.fail(sessionID, error)
      if (!isWaitedFor && !StemmaError.is(error, "not_found")) this.engine.warn(error)
    } finally {
      leave()
    }
  }

  async #run(
    sessionID: string,
    { active, lease, ...place }: { active: Active; lease: LeaseKeeper } & RunPlace,
  ): Promise<void> {
    let run: Run | undefined
    const cached = this.#cache.take(sessionID)
    try {
      this.engine.hub.setStatus(sessionID, { type: "busy" })
      run = await this.#open(sessionID, { lease, cached, place })
      active.run = run
      active.again = false
      // `stop` closes the runs that it knows. This run was still being opened, and has nothing to seal.
      if (this.#stopping.signal.aborted) run.close()
      else await loop(run)
      if (!run.isClosing) cached.idleFence = lease.fence
    } catch (error) {
      run?.telemetry.end({ outcome: lease.signal.aborted ? "interrupted" : "error", error })
      if (!lease.signal.aborted) throw error
      // Another process continues the session; waiters of this process read its answer from the store.
      this.#cache.delete(sessionID)
    } finally {
      run?.telemetry.end({ outcome: "interrupted" })
      delete active.run
      this.#cache.rest(sessionID)
      try {
        await lease.release()
      } finally {
        this.engine.hub.setStatus(sessionID, { type: "idle" })
      }
    }
    await this.waiters.look(sessionID, { isOver: !lease.signal.aborted })
    // A closing process does not start the session again.
    const isLeft = this.isDraining && lease.signal.aborted
    if (this.#stopping.signal.aborted || isLeft) {
      this.waiters.fail(sessionID, closed())
      return
    }
    // An item that was admitted between the last look and the release needs another run.
    const items = await this.engine.store.inbox(sessionID)
    if (items.some(isWork) || this.waiters.has(sessionID)) active.again = true
  }

  async #open(
    sessionID: string,
    { lease, cached, place }: { lease: LeaseKeeper; cached: CachedSession; place?: RunPlace },
  ): Promise<Run> {
    const session = await this.engine.store.session(sessionID)
    const project = await this.engine.projects.get(session.directory)
    const { memo, reads } = cached
    // No other process has held the lease since a run of this process ended in order.
    const isUntouched = cached.idleFence === lease.fence - 1
    delete cached.idleFence
    await memo.refresh(this.engine.store, session)
    const onAnswered = (items: readonly HistoryItem[]) => this.waiters.answered(sessionID, items)
    const onRefused = (promptID: string, error: unknown) => this.waiters.refuse(sessionID, promptID, error)
    return new Run({
      engine: this.engine,
      project,
      session,
      lease,
      memo,
      reads,
      coordinator: this,
      onAnswered,
      onRefused,
      onGranted: () => this.#recheckQuestions(),
      isUntouched,
      ...place,
    })
  }

  /** Undefined if another process holds the session and has taken the work. */
  async #claimOrLeave(
    sessionID: string,
    { active, leave }: { active: Active; leave: () => void },
  ): Promise<LeaseKeeper | undefined> {
    const { store, timing, recover } = this.engine
    for (let tries = 1; ; tries++) {
      try {
        const lease = await LeaseKeeper.claim(store, sessionID)
        active.waitsFor = undefined
        return lease
      } catch (error) {
        if (!StemmaError.is(error, "conflict")) throw error
      }
      active.waitsFor = "lease"
      leave()
      await this.waiters.look(sessionID)
      const items = await store.inbox(sessionID)
      const isAsked = items.length > 0 || this.waiters.has(sessionID)
      // A process that only checks whether the session is busy also holds the lease for a moment.
      if (!isAsked && (!recover || tries >= claimAttemptsMax)) return undefined
      if (this.#stopping.signal.aborted) {
        this.waiters.fail(sessionID, closed())
        return undefined
      }
      await new Promise((resolve) => setTimeout(resolve, timing.claimRetryMs))
    }
  }

  async #claimUntil(sessionID: string, until: number): Promise<LeaseKeeper> {
    for (;;) {
      try {
        return await LeaseKeeper.claim(this.engine.store, sessionID)
      } catch (error) {
        if (!StemmaError.is(error, "conflict")) throw error
        if (performance.now() > until) throw busy(sessionID)
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  #watched(change: Watched): void {
    for (const id of change.sessions) {
      if (this.#active.has(id) || this.waiters.has(id) || this.engine.recover) this.#touched.add(id)
    }
    if (this.#touched.size > 0) this.#timer ??= setTimeout(() => this.#handleChanges(), inboxDelayMs)
  }

  #handleChanges(): void {
    this.#timer = undefined
    const touched = [...this.#touched]
    this.#touched.clear()
    for (const sessionID of touched) {
      const active = this.#active.get(sessionID)
      if (active?.run) this.#handle(active)
      else if (this.waiters.has(sessionID)) this.waiters.look(sessionID).catch(this.engine.warn)
      else if (!active && this.engine.recover) this.#serveLater(sessionID)
    }
  }

  /** Waits before claiming, so that the process that admitted the item can claim first. */
  #serveLater(sessionID: string): void {
    const look = async () => {
      if (this.#active.has(sessionID) || this.isDraining) return
      const items = await this.engine.store.inbox(sessionID)
      if (items.length > 0 && !this.isDraining) this.wake(sessionID)
    }
    const timer = setTimeout(() => {
      look().catch((error: unknown) => {
        if (!StemmaError.is(error)) this.engine.warn(error)
      })
    }, serveDelayMs)
    timer.unref()
  }

  /** Checks all open questions again after an `always` answer: parallel children often ask the same question. */
  #recheckQuestions(): void {
    for (const { run } of this.#active.values()) {
      run?.recheckQuestions().catch((error: unknown) => {
        if (!run.writer.signal.aborted) this.engine.warn(error)
      })
    }
  }

  #handle(active: Active): void {
    const { run, oldAborts } = active
    const handling = oldAborts ? run?.handleAborts(oldAborts) : run?.handleInbox()
    handling?.catch((error: unknown) => {
      // The session was removed, so the run cannot write any more.
      if (StemmaError.is(error, "not_found")) active.run?.writer.lose()
      else if (!active.run?.writer.signal.aborted) this.engine.warn(error)
    })
  }
}

/** True for the kinds of inbox items that start a run. */
function isWork({ type }: InboxItem): boolean {
  return type === "prompt" || type === "compact"
}

function closed(): StemmaError {
  return new StemmaError(
    "unavailable",
    "Stemma was closed before the prompt was answered. The prompt is stored and can still be answered.",
  )
}

function busy(sessionID: string): StemmaError {
  return new StemmaError(
    "conflict",
    `Session ${sessionID} is busy. Wait for its run to end, or abort it first.`,
  )
}
