import type { GrowingField, Row, StemmaEvent } from "../protocol/index.ts"
import type { Scope } from "../stores/store.ts"

/**
 * What a subscriber is given: events, or the rows that they are derived from. A cursor is one from which `since` continues without loss; live text and statuses have
 * none. `synced`: what came before is the past, what follows is new. `lagged`: the subscriber was too slow and is closed;
 * subscribe again with `since` set to that cursor. `more`: rows of the same answer follow, and only with
 * them is it whole.
 */
export type Frame =
  | { event: StemmaEvent; cursor?: string }
  | { row: Row; cursor?: string; more?: boolean }
  | { synced: true; cursor: string }
  | { lagged: true; cursor: string }

/** A bit of text that a run has just received, as it will be stored: NUL and lone surrogates replaced. */
export interface Delta {
  sessionID: string
  messageID: string
  partID: string
  field: GrowingField
  /** Where it begins in the field, in UTF-16 units. */
  offset: number
  delta: string
}

export interface SubscribeOptions {
  /** Every session of the store if absent. */
  scope?: Scope
  /** A cursor of an earlier frame: what changed after it comes first. */
  since?: string
  /** Ends the subscription, without an error. */
  signal?: AbortSignal
  /** How many frames may wait before the subscriber counts as too slow; 10,000 if absent. */
  bufferMax?: number
  /**
   * `rows` gives what changed as it is stored, for a replica, instead of events; live text and statuses are events either
   * way. `events` if absent.
   */
  as?: "events" | "rows"
  /** With the scope of one session: also the questions of sessions below it that run in this process, as they are asked. */
  questions?: boolean
}

/** Frames for one listener. To be iterated once, in one of the two ways; leaving the loop closes it. */
export interface Subscription extends AsyncIterable<Frame>, Disposable {
  /**
   * Resolves when everything from now on will be seen; rejects with the error that ends the iteration. Need not be
   * awaited.
   */
  readonly ready: Promise<void>
  /** All that is waiting, at once: one await for many frames. */
  batches(): AsyncIterable<Frame[]>
  /** Ends the iteration; what is waiting is dropped. */
  close(): void
}

export const bufferMaxStandard = 10_000

/** However few they are, frames that wait may not hold more text than about this, in UTF-16 units. */
export const bufferUnitsMax = 16 * 1024 * 1024
