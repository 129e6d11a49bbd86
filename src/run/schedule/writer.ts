import { StemmaError } from "../../protocol/index.ts"
import type { Op } from "../../stores/commit.ts"
import type { Committed, Store } from "../../stores/store.ts"
import type { Metrics } from "../telemetry/metrics.ts"
import type { CommitPace } from "./commit-pace.ts"
import type { LeaseKeeper } from "./lease-keeper.ts"

/**
 * Writes one session's run under its fence, in the order of the calls. After the first commit that fails nothing more is
 * written: recovery continues from what is in the store.
 */
export class RunWriter {
  readonly #store: Store
  readonly #lease: LeaseKeeper
  readonly #metrics: Metrics
  readonly pace: CommitPace
  readonly #failed = new AbortController()

  constructor(store: Store, options: { lease: LeaseKeeper; metrics: Metrics; pace: CommitPace }) {
    const { lease, metrics, pace } = options
    this.#store = store
    this.#lease = lease
    this.#metrics = metrics
    this.pace = pace
    const lost = () => this.#failed.abort(lease.signal.reason)
    if (lease.signal.aborted) lost()
    else lease.signal.addEventListener("abort", lost, { once: true })
  }

  /** Aborted with the reason once a commit failed or the lease was lost. */
  get signal(): AbortSignal {
    return this.#failed.signal
  }

  get sessionID(): string {
    return this.#lease.sessionID
  }

  async commit(ops: Op[]): Promise<Committed> {
    try {
      return await this.attempt(ops)
    } catch (error) {
      this.#failed.abort(error)
      throw error
    }
  }

  /** Commits operations that a caller asked for. If the store refuses them, the run can continue without them. */
  async attempt(ops: Op[]): Promise<Committed> {
    this.#failed.signal.throwIfAborted()
    this.#lease.check()
    const startedMs = performance.now()
    const done = this.#store.commit({ ops, fences: { [this.sessionID]: this.#lease.fence } })
    const end = this.pace.begin(startedMs)
    try {
      const committed = await done
      this.#metrics.committed(performance.now() - startedMs)
      return committed
    } catch (error) {
      this.#metrics.commitFailed()
      if (isLostFence(error)) this.#lease.lose()
      throw error
    } finally {
      end()
    }
  }

  /** Commits without waiting. A failure aborts `signal` and fails the next `commit`. */
  push(ops: Op[]): void {
    if (this.#failed.signal.aborted || ops.length === 0) return
    this.commit(ops).catch(() => {})
  }

  /** Gives up the lease: the session was removed, or another process has it. */
  lose(): void {
    this.#lease.lose()
  }
}

function isLostFence(error: unknown): boolean {
  return StemmaError.is(error, "conflict") && error.details?.fence !== undefined
}
