import type { Op } from "../../src/stores/commit.ts"
import type { Committed, Lease, Store } from "../../src/stores/store.ts"

const renewAfterMs = 3000

/** The writer of a session, like a run: it holds the lease and renews it in time. */
export class Run {
  readonly sessionID: string
  readonly #store: Store
  #lease: Lease
  #renewed = performance.now()

  private constructor(store: Store, lease: Lease) {
    this.#store = store
    this.#lease = lease
    this.sessionID = lease.sessionID
  }

  static async claim(store: Store, sessionID: string): Promise<Run> {
    return new Run(store, await store.claim(sessionID))
  }

  commit(...ops: Op[]): Promise<Committed> {
    return this.#store.commit({ ops, fences: { [this.sessionID]: this.#lease.fence } })
  }

  /** True if the lease was renewed: the next commit reads the session's state again. */
  async renewInTime(): Promise<boolean> {
    if (performance.now() - this.#renewed < renewAfterMs) return false
    this.#lease = await this.#store.renew(this.#lease)
    this.#renewed = performance.now()
    return true
  }
}
