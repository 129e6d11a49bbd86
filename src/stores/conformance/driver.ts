import type { Clock } from "../../protocol/index.ts"
import type { Capabilities, Holder, Store } from "../store.ts"

export interface ConformanceOpenOptions {
  /** The store's clock, unless it can only use its own. */
  clock?: Clock
  /** In whose name leases are claimed. */
  holder?: Holder
}

/** What the suite must know of a driver to test it. */
export interface ConformanceDriver {
  capabilities: Capabilities
  /** True if the store cannot be given a clock: cases that move time do not fit. */
  ownClock?: boolean
  /** Opens a store on a fresh place. */
  open(options?: ConformanceOpenOptions): Promise<Store>
  /** Closes the store and opens the same place again. Absent if nothing outlives the store. */
  reopen?(store: Store, options?: ConformanceOpenOptions): Promise<Store>
  /** Another handle to the same place, as another process would have. */
  second?(store: Store, options?: ConformanceOpenOptions): Promise<Store>
}

/** What a case needs of a driver beyond the port. */
export type ConformanceNeed = "clock" | "reopen" | "second"

/** One promise of the port, named by its sentence, and the test of it. */
export interface ConformanceCase {
  name: string
  needs: readonly ConformanceNeed[]
  /** Fails with an AssertionError if the promise is broken. Does nothing if the driver lacks what the case needs. */
  run(driver: ConformanceDriver): Promise<void>
}

/** True if the driver has all that the case needs; a runner shows the others as skipped. */
export function fits({ needs }: ConformanceCase, driver: ConformanceDriver): boolean {
  return needs.every((need) => (need === "clock" ? !driver.ownClock : driver[need] !== undefined))
}
