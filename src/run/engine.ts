import type { Clock, IDKind, PermissionReply, PermissionRequest } from "../protocol/index.ts"
import type { Store } from "../stores/store.ts"
import type { Hub } from "../stream/hub.ts"
import type { HumanPresence } from "./permission/human-presence.ts"
import type { Projects } from "./project.ts"
import type { Metrics } from "./telemetry/metrics.ts"
import type { Tracing } from "./telemetry/tracing.ts"

/** What a run is made of; put together in src/index.ts. */
export interface Engine {
  readonly store: Store
  readonly hub: Hub
  readonly clock: Clock
  readonly newID: (kind: IDKind) => string
  readonly projects: Projects
  readonly presence: HumanPresence
  readonly timing: Timing
  readonly metrics: Metrics
  readonly tracing: Tracing
  /** Goes on with runs that a dead process left; otherwise they are only repaired. */
  readonly recover: boolean
  /** Work that nobody waits for; closing does, or aborts it. */
  readonly background: (work: (signal: AbortSignal) => Promise<void>) => void
  /** Reports what nobody waits for. */
  readonly warn: (error: unknown) => void
}

/** Answers a question for a person; undefined leaves it open. */
export type AskHandler = (
  request: PermissionRequest,
) => Promise<{ reply: PermissionReply; feedback?: string } | undefined>

/** Times that tests shorten. */
export interface Timing {
  /** The first wait before a failed model call is tried again; it doubles each time. */
  retryBaseMs: number
  retryMaxMs: number
  /** How often a failed call is tried again. */
  retriesMax: number
  /** A longer wait than this, asked for by a provider, ends the run with an error that says so. */
  retryAfterMaxMs: number
  /** How long an aborted tool may take before it is given up. */
  toolGraceMs: number
  /** How often a session that another process holds is tried. */
  claimRetryMs: number
}

export const standardTiming: Timing = {
  retryBaseMs: 2000,
  retryMaxMs: 30_000,
  retriesMax: 8,
  retryAfterMaxMs: 15 * 60_000,
  toolGraceMs: 250,
  claimRetryMs: 250,
}
