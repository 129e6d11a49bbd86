import type { FutureLeases } from "../future-leases.ts"
import { isDead, sameHolder } from "../holder.ts"
import { leaseHeld, leaseLost } from "../refusals.ts"
import { type Holder, type Lease, leaseDurationMs } from "../store.ts"
import type { PlainLease, PlainSession, PlainState } from "./model.ts"
import { findVisible } from "./read/find.ts"

/** The process that asks for a lease, the time by the store's clock, and the leases that its store has observed. */
export interface Claimant {
  holder: Holder
  nowMs: number
  futureLeases: FutureLeases
}

/** Returns the lease if it has not expired. */
export function liveLease(session: PlainSession, nowMs: number): PlainLease | undefined {
  return session.lease && nowMs < session.lease.expiresAt ? session.lease : undefined
}

/** True if another process that is not known to be dead holds the lease. */
export function isHeldByOther(session: PlainSession, claimant: Claimant): boolean {
  const { lease } = session
  if (!lease || isExpired(session, lease, claimant) || sameHolder(lease.holder, claimant.holder)) return false
  return !isDead(lease.holder, claimant.holder)
}

function isExpired({ info, fence }: PlainSession, { expiresAt }: PlainLease, claimant: Claimant): boolean {
  return claimant.futureLeases.isExpired({ sessionID: info.id, fence, expiresAt }, claimant.nowMs)
}

export function claimLease(state: PlainState, sessionID: string, claimant: Claimant): Lease {
  const session = findVisible(state, sessionID)
  const { lease } = session
  if (lease && !isExpired(session, lease, claimant) && !isDead(lease.holder, claimant.holder))
    throw leaseHeld(sessionID, lease.holder, lease.expiresAt)
  session.fence += 1
  return extend(session, claimant)
}

export function renewLease(state: PlainState, lease: Lease, claimant: Claimant): Lease {
  const session = findVisible(state, lease.sessionID)
  checkFence(session, lease.fence, claimant)
  return extend(session, claimant)
}

/** Does nothing for a lost lease or a removed session. */
export function releaseLease(state: PlainState, lease: Lease): void {
  const session = state.sessions.get(lease.sessionID)
  if (session?.fence === lease.fence) session.lease = undefined
}

function extend(session: PlainSession, { holder, nowMs }: Claimant): Lease {
  const expiresAt = nowMs + leaseDurationMs
  session.lease = { holder, expiresAt }
  return { sessionID: session.info.id, fence: session.fence, expiresAt, durationMs: leaseDurationMs }
}

/** Fails with `conflict` unless the fence belongs to a lease that has not expired. */
export function checkFence(session: PlainSession, fence: number, options: { nowMs: number }): void {
  if (session.fence === fence && liveLease(session, options.nowMs)) return
  throw leaseLost(session.info.id, fence)
}
