import type { FutureLeases } from "../../future-leases.ts"
import { isDead } from "../../holder.ts"
import { leaseHeld, leaseLost, noSession } from "../../refusals.ts"
import { type Holder, type Lease, leaseDurationMs } from "../../store.ts"
import type { Database } from "../connection/database.ts"
import { encodeID } from "../rows/id-codec.ts"

interface LeaseRow {
  key: number
  fence: number
  expires: number
  holder: Holder | undefined
}

function readLease(db: Database, sessionID: string): LeaseRow {
  const row = db.get(
    `SELECT t.session, t.fence, t.expires, t.holder FROM sessions s JOIN tips t ON t.session = s.key
      WHERE s.id = ? AND s.importing = 0`,
    encodeID(sessionID),
  )
  if (row === undefined) throw noSession(sessionID)
  const [key, fence, expires, holder] = row as [number, number, number, string | null]
  return { key, fence, expires, holder: holder === null ? undefined : (JSON.parse(holder) as Holder) }
}

export function claimLease(
  db: Database,
  sessionID: string,
  claim: { holder: Holder; nowMs: number; futureLeases: FutureLeases },
): Lease {
  const { holder, nowMs, futureLeases } = claim
  const lease = readLease(db, sessionID)
  const isFree =
    !lease.holder || futureLeases.isExpired({ ...lease, sessionID, expiresAt: lease.expires }, nowMs)
  if (lease.holder && !isFree && !isDead(lease.holder, holder)) {
    throw leaseHeld(sessionID, lease.holder, lease.expires)
  }
  const fence = lease.fence + 1
  return extend(db, lease.key, { sessionID, fence, holder, nowMs })
}

export function renewLease(db: Database, held: Lease, own: Holder, nowMs: number): Lease {
  const lease = readLease(db, held.sessionID)
  if (lease.fence !== held.fence || lease.expires <= nowMs) {
    throw leaseLost(held.sessionID, held.fence)
  }
  return extend(db, lease.key, { sessionID: held.sessionID, fence: held.fence, holder: own, nowMs })
}

export function releaseLease(db: Database, held: Lease): void {
  db.run(
    "UPDATE tips SET expires = 0, holder = NULL WHERE session = (SELECT key FROM sessions WHERE id = ?) AND fence = ?",
    encodeID(held.sessionID),
    held.fence,
  )
}

function extend(
  db: Database,
  key: number,
  lease: { sessionID: string; fence: number; holder: Holder; nowMs: number },
): Lease {
  const expiresAt = lease.nowMs + leaseDurationMs
  db.run(
    "UPDATE tips SET fence = ?, expires = ?, holder = ? WHERE session = ?",
    lease.fence,
    expiresAt,
    JSON.stringify(lease.holder),
    key,
  )
  return { sessionID: lease.sessionID, fence: lease.fence, expiresAt, durationMs: leaseDurationMs }
}
