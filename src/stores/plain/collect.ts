import { collectAge } from "../limits.ts"
import type { CollectOptions } from "../store.ts"
import type { PlainState } from "./model.ts"
import { referencedBlobs, removeSession } from "./operations/remove.ts"

/** Returns the ids of imports that are older than `importAgeMs`, in order of creation. */
export function abandonedImports(
  state: PlainState,
  options: { nowMs: number; importAgeMs?: number },
): string[] {
  const latest = options.nowMs - (options.importAgeMs ?? collectAge.importMs)
  const old = [...state.sessions.values()].filter((session) => session.importing && session.begun <= latest)
  return old.sort((a, b) => a.serial - b.serial).map((session) => session.info.id)
}

/** A blob of the driver: when it was last put, and its size. */
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

/** Removes abandoned imports and expired records. Returns what was removed and which blobs the driver may remove. */
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
  // An unpublished import was never visible, so its removal is not a change and takes no version.
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
