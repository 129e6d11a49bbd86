import { collectAge } from "../limits.ts"
import type { CollectOptions } from "../store.ts"
import type { PlainState } from "./model.ts"
import { referencedBlobs, removeSession } from "./operations/remove.ts"

/** Imports that nobody will finish. */
export function abandonedImports(
  state: PlainState,
  options: { nowMs: number; importAgeMs?: number },
): string[] {
  const latest = options.nowMs - (options.importAgeMs ?? collectAge.importMs)
  const old = [...state.sessions.values()].filter((session) => session.importing && session.begun <= latest)
  return old.sort((a, b) => a.serial - b.serial).map((session) => session.info.id)
}

/** A blob as a driver knows it: when it was last put, and how many bytes it has. */
export interface KnownBlob {
  hash: string
  time: number
  bytes: number
}

export interface CollectedState {
  sessions: string[]
  messages: number
  blobs: KnownBlob[]
}

/** Drops what is too old to be of use, and says what went and which blobs may go. */
export function collectState(
  state: PlainState,
  options: CollectOptions & { nowMs: number; blobs: Iterable<KnownBlob> },
): CollectedState {
  const { nowMs } = options
  const sessions = abandonedImports(state, options)
  const { version } = state
  let messages = 0
  const undone: (() => void)[] = []
  for (const id of sessions) {
    const { applied, removal } = removeSession(state, id, { nowMs })
    undone.push(applied.rollback)
    messages += removal.messages
  }
  // Nobody ever saw these sessions: their end is no change.
  state.version = version
  const referenced = referencedBlobs(state)
  const latestBlob = nowMs - (options.blobAgeMs ?? collectAge.blobMs)
  const blobs = [...options.blobs].filter(({ hash, time }) => time <= latestBlob && !referenced.has(hash))
  if (options.dryRun) for (const rollback of undone.reverse()) rollback()
  else forgetOld(state, nowMs)
  return { sessions, messages, blobs }
}

function forgetOld(state: PlainState, nowMs: number): void {
  for (const [id, tombstone] of state.tombstones) {
    if (tombstone.time <= nowMs - collectAge.removedMs) state.tombstones.delete(id)
  }
  for (const session of state.sessions.values()) {
    for (const [id, item] of session.taken) {
      if (item.time <= nowMs - collectAge.takenMs) session.taken.delete(id)
    }
  }
}
