import type { Clock, IDKind, PermissionReply, PermissionRequest } from "../protocol/index.ts"
import type { Store } from "../stores/store.ts"
import type { Hub } from "../stream/hub.ts"
import type { HumanPresence } from "./permission/human-presence.ts"
import type { Projects } from "./project.ts"
import type { Slices } from "./schedule/slices.ts"
import type { Metrics } from "./telemetry/metrics.ts"
import type { Tracing } from "./telemetry/tracing.ts"

/** The parts that runs share; composed in src/index.ts. */
export interface Engine {
  readonly store: Store
  readonly hub: Hub
  readonly clock: Clock
  readonly newID: (kind: IDKind) => string
  readonly projects: Projects
  readonly presence: HumanPresence
  readonly timing: Timing
  /** Shares the ticks of the event loop among prompts that arrive at once and models that stream at once. */
  readonly slices: Slices
  readonly metrics: Metrics
  readonly tracing: Tracing
  /** Continue the runs that a dead process left; otherwise their histories are only repaired. `Stemma.recover` sets it. */
  recover: boolean
  /** Starts work in the background; closing aborts it and waits for its end. */
  readonly background: (work: (signal: AbortSignal) => Promise<void>) => void
  /** Reports a failure that no caller waits for. */
  readonly warn: (error: unknown) => void
}

/** Answers a permission question for a person; undefined leaves the question open. */
export type AskHandler = (
  request: PermissionRequest,
) => Promise<{ reply: PermissionReply; feedback?: string } | undefined>

/** Delays and limits, configurable so that tests can shorten them. */
export interface Timing {
  /** The wait before the first retry of a failed model call; it doubles with each retry. */
  retryBaseMs: number
  retryMaxMs: number
  /** The maximum number of retries of a failed model call. */
  retriesMax: number
  /** A provider that asks for a longer wait ends the run with an error. */
  retryAfterMaxMs: number
  /** How long an aborted tool may take to end before the run stops waiting for it. */
  toolGraceMs: number
  /** The interval between attempts to claim a session that another process holds. */
  claimRetryMs: number
  /** A commit that takes longer is slow. After a slow commit, text is sent to subscribers only once it is committed. */
  slowCommitMs: number
  /** How long `close` waits for a title that is being written. */
  titleGraceMs: number
}

export const standardTiming: Timing = {
  retryBaseMs: 2000,
  retryMaxMs: 30_000,
  retriesMax: 8,
  retryAfterMaxMs: 15 * 60_000,
  toolGraceMs: 250,
  claimRetryMs: 250,
  slowCommitMs: 25,
  titleGraceMs: 0,
}
