import type { Clock } from "../../protocol/index.ts"
import type { Capabilities, Holder, Store } from "../store.ts"

export interface ConformanceOpenOptions {
  /** The clock of the store. Ignored by a driver with `ownClock`. */
  clock?: Clock
  /** The process that the store claims leases for. */
  holder?: Holder
}

/** What the suite needs to know about a driver to test it. */
export interface ConformanceDriver {
  capabilities: Capabilities
  /** True if the driver uses its own clock. Cases that advance the time are skipped then. */
  ownClock?: boolean
  /** Opens a new, empty store. */
  open(options?: ConformanceOpenOptions): Promise<Store>
  /** Closes the store and opens the same data again. Absent if the data does not survive the store. */
  reopen?(store: Store, options?: ConformanceOpenOptions): Promise<Store>
  /** Opens a second handle to the same data, as another process would. Absent if only one handle is possible. */
  second?(store: Store, options?: ConformanceOpenOptions): Promise<Store>
}

/** A capability of the driver that a case needs beyond the port. */
export type ConformanceNeed = "clock" | "reopen" | "second"

/** A test of one promise of the port. Its name is the promise. */
export interface ConformanceCase {
  name: string
  needs: readonly ConformanceNeed[]
  /** Throws an AssertionError if the promise is broken. Does nothing if the driver lacks what the case needs. */
  run(driver: ConformanceDriver): Promise<void>
}

/** True if the driver has everything that the case needs. A test runner shows the other cases as skipped. */
export function fits({ needs }: ConformanceCase, driver: ConformanceDriver): boolean {
  return needs.every((need) => (need === "clock" ? !driver.ownClock : driver[need] !== undefined))
}
