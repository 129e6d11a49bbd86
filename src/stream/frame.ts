import type { GrowingField, Row, StemmaEvent } from "../protocol/index.ts"
import type { Scope } from "../stores/store.ts"

/**
 * One item of a subscription: an event, or a row that events are derived from. `since` continues from a cursor without
 * loss; live text and statuses have no cursor. `synced`: the frames before this one are the past, the frames after it
 * are new. `lagged`: the subscriber was too slow and is closed; subscribe again with `since` set to that cursor.
 * `more`: more rows of the same read follow, and the state is complete only with them.
 */
export type Frame =
  | { event: StemmaEvent; cursor?: string }
  | { row: Row; cursor?: string; more?: boolean }
  | { synced: true; cursor: string }
  | { lagged: true; cursor: string }

/** Text that a run has just received, in the form that will be stored: NUL and lone surrogates are replaced. */
export interface Delta {
  sessionID: string
  messageID: string
  partID: string
  field: GrowingField
  /** Where the text begins in the field, in UTF-16 units. */
  offset: number
  delta: string
}

export interface SubscribeOptions {
  /** Every session of the store if absent. */
  scope?: Scope
  /** A cursor of an earlier frame. What changed after it comes first. */
  since?: string
  /** Ends the subscription, without an error. */
  signal?: AbortSignal
  /** How many frames may wait before the subscriber counts as too slow; 10,000 if absent. */
  bufferMax?: number
  /**
   * `rows` sends changes as stored rows, for a replica, instead of events. Live text and statuses are events in both
   * cases. `events` if absent.
   */
  as?: "events" | "rows"
  /**
   * With the scope of one session: also sends the questions of its descendants that run in this process, as they are
   * asked.
   */
  questions?: boolean
}

/**
 * The frames of one subscriber. Iterate once, either over frames or over `batches()`. Leaving the loop closes the
 * subscription.
 */
export interface Subscription extends AsyncIterable<Frame>, Disposable {
  /**
   * Resolves when every later event will be received. Rejects with the error that ends the iteration. Awaiting it is
   * optional.
   */
  readonly ready: Promise<void>
  /** All waiting frames at once: one await for many frames. */
  batches(): AsyncIterable<Frame[]>
  /**
   * Resolves when no frame waits and the reader of `batches()` has asked for more, or when the subscription is closed.
   * Undefined if that is so already.
   */
  taken(): Promise<void> | undefined
  /** Ends the iteration and drops the waiting frames. */
  close(): void
}

export const bufferMaxStandard = 10_000

/** Waiting frames may not hold more text than about this, in UTF-16 units, however few they are. */
export const bufferUnitsMax = 16 * 1024 * 1024
