import { type InboxItem, StemmaError } from "../../../protocol/index.ts"
import type { Commit, Op } from "../../commit.ts"
import { runOps } from "../../commit.ts"
import { encodeCursor } from "../../cursor.ts"
import {
  admitItem,
  applyCommit,
  type Claimant,
  claimLease,
  type PlainSession,
  redactContent,
  releaseLease,
  removeSession,
  renewLease,
  withDescendants,
} from "../../plain/index.ts"
import type { Admitted, Committed, Lease, Redaction, Removal } from "../../store.ts"
import type { Core } from "../core.ts"
import { removeBlobs, unnamedBlobs } from "../disk/blobs.ts"
import { formatLines } from "../format/lines.ts"
import type { LeaseLine } from "../format/state-line.ts"
import { type BatchDraft, hasFileConflict } from "./batch-draft.ts"
import type { WriteJob } from "./writer.ts"

/** The operations that can append lines to a main file. */
const mainOps: ReadonlySet<Op["op"]> = new Set([
  "message.append",
  "message.seal",
  "inbox.take",
  "history.move",
  "session.patch",
] satisfies Op["op"][])

function claimant(core: Core): Claimant {
  return { holder: core.holder, nowMs: core.clock.now(), futureLeases: core.futureLeases }
}

export function commitJob(core: Core, commit: Commit): WriteJob<Committed> {
  return {
    sessions: () => namedSessions(commit),
    writes: commit.ops.some((op) => runOps.has(op.op)),
    appends: commit.ops.some((op) => mainOps.has(op.op)),
    run(draft) {
      for (const op of commit.ops) {
        if (op.op === "session.create" || op.op === "session.fork") requireNoFileConflict(core, op.session)
      }
      const applied = applyCommit(core.state, commit, { nowMs: core.clock.now() })
      draft.addChange(applied)
      const { version, seq } = applied
      return { cursor: encodeCursor(core.state.storeID, version), version, seq }
    },
  }
}

function requireNoFileConflict(core: Core, session: { id: string; agent?: string }): void {
  if (!hasFileConflict(core, session)) return
  throw new StemmaError(
    "conflict",
    `A file with the name of session ${session.id} exists already. Create the session with another id.`,
    { details: { sessionID: session.id } },
  )
}

function namedSessions(commit: Commit): Set<string> {
  const ids = new Set([...Object.keys(commit.fences ?? {}), ...Object.keys(commit.expectSeq ?? {})])
  for (const op of commit.ops) {
    if ("sessionID" in op) ids.add(op.sessionID)
    if (op.op === "session.fork") ids.add(op.sourceID)
    if (op.op === "permission.put") ids.add(op.request.sessionID)
  }
  return ids
}

export function admitJob(core: Core, item: InboxItem): WriteJob<Admitted> {
  return {
    sessions: () => [item.sessionID],
    run(draft) {
      const applied = admitItem(core.state, item)
      if (applied) draft.addChange(applied)
      const cursor = encodeCursor(core.state.storeID, applied?.version ?? core.state.version)
      return { duplicate: !applied, cursor }
    },
  }
}

export function claimJob(core: Core, sessionID: string): WriteJob<Lease> {
  return leaseJob(core, sessionID, () => claimLease(core.state, sessionID, claimant(core)))
}

export function renewJob(core: Core, lease: Lease): WriteJob<Lease> {
  return leaseJob(core, lease.sessionID, () => renewLease(core.state, lease, claimant(core)))
}

export function releaseJob(core: Core, lease: Lease): WriteJob<void> {
  return leaseJob(core, lease.sessionID, () => releaseLease(core.state, lease))
}

/** Changes the lease of a session. This is not a commit, because no versioned row changes. */
function leaseJob<T>(core: Core, sessionID: string, change: () => T): WriteJob<T> {
  return {
    sessions: () => [sessionID],
    writes: true,
    run(draft) {
      const session = core.state.sessions.get(sessionID)
      const { fence, lease } = session ?? {}
      const result = change()
      if (!session || (session.fence === fence && session.lease === lease)) return result
      draft.onUndo(() => Object.assign(session, { fence, lease }))
      draft.append(core.tracked.get(sessionID)!, "state", formatLines([leaseLine(session)]))
      return result
    },
  }
}

function leaseLine({ fence, lease }: PlainSession): LeaseLine {
  return { type: "lease", fence, ...lease }
}

export function removeJob(core: Core, sessionID: string): WriteJob<Removal> {
  return {
    alone: true,
    // A session that cannot be read can still be removed.
    skipsUnreadable: true,
    sessions: () => relatives(core, sessionID),
    run(draft) {
      const { applied, removal, freedBlobs } = removeSession(core.state, sessionID, {
        nowMs: core.clock.now(),
      })
      const named = applied.removed.flatMap((id) => [...(core.tracked.get(id)?.blobs ?? [])])
      draft.addChange(applied)
      const freed = unnamedBlobs(core, [...freedBlobs, ...named])
      draft.afterCommit.push(() => removeBlobs(core, freed))
      return { ...removal, blobs: freed.length }
    },
  }
}

export function redactJob(
  core: Core,
  target: { sessionID: string; messageID?: string; partID?: string },
): WriteJob<Redaction> {
  return {
    alone: true,
    // The main files are rewritten, so lines of other programs must be adopted first.
    writes: true,
    appends: true,
    sessions: () => relatives(core, target.sessionID),
    run(draft) {
      const { applied, redaction, freedBlobs } = redactContent(core.state, target, claimant(core))
      draft.addChange(applied)
      const freed = unnamedBlobs(core, freedBlobs)
      draft.afterCommit.push(() => removeBlobs(core, freed))
      return redaction
    },
  }
}

/** Returns the session, its descendants, and all sessions that may share messages with them. */
function relatives(core: Core, sessionID: string): string[] {
  const session = core.state.sessions.get(sessionID)
  const below = session ? withDescendants(core.state, session).map(({ info }) => info.id) : [sessionID]
  const families = new Set(below.map((id) => core.tracked.get(id)?.family))
  return [...core.tracked.values()]
    .filter((tracked) => families.has(tracked.family))
    .map((tracked) => tracked.id)
}

/** A job without a change of its own: applies what other processes and programs wrote, under the lock. */
export function catchUpJob(ids: string[], prepare?: (draft: BatchDraft) => Promise<void>): WriteJob<void> {
  return { sessions: () => ids, run: () => undefined, ...(prepare ? { prepare } : {}) }
}
