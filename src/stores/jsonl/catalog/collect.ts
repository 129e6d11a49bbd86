import { abandonedImports, removeSession } from "../../plain/index.ts"
import type { Collected, CollectOptions } from "../../store.ts"
import type { Core } from "../core.ts"
import { listBlobs, removeBlobDrafts, removeBlobs } from "../disk/blobs.ts"
import { formatLines } from "../format/lines.ts"
import type { BatchDraft } from "../journal/batch-draft.ts"
import type { WriteJob } from "../journal/writer.ts"
import { load } from "./loader.ts"

const hourMs = 60 * 60 * 1000
const takenAgeMs = 24 * hourMs
const tombstoneAgeMs = 30 * 24 * hourMs

/** The job of `Store.collect`: removes abandoned imports, unreferenced blobs, and expired records. */
export function collectJob(core: Core, options: CollectOptions): WriteJob<Collected> {
  const nowMs = core.clock.now()
  const abandoned = () => abandonedImports(core.state, { nowMs, importAgeMs: options.importAgeMs })
  return {
    alone: true,
    skipsUnreadable: true,
    sessions: abandoned,
    async prepare(draft) {
      if (!options.dryRun) await forgetTaken(core, draft, options)
    },
    run(draft) {
      const imports = abandoned()
      const { version } = core.state
      const before = new Map(imports.map((id) => [id, core.tracked.get(id)?.blobs]))
      let messages = 0
      const undo: (() => void)[] = []
      for (const id of imports) {
        const { applied, removal } = removeSession(core.state, id, { nowMs })
        messages += removal.messages
        if (options.dryRun) undo.unshift(() => applied.rollback())
        else draft.addChange(applied)
      }
      // An unpublished import was never visible, so its removal is not a change and takes no version.
      core.state.version = version
      const named = new Set<string>()
      for (const [id, { blobs }] of core.tracked)
        if (!before.has(id)) for (const hash of blobs) named.add(hash)
      const latest = nowMs - (options.blobAgeMs ?? hourMs)
      const blobs = listBlobs(core).filter(({ hash, time }) => time <= latest && !named.has(hash))
      for (const step of undo) step()
      if (!options.dryRun) {
        forgetTombstones(core, draft, nowMs)
        draft.afterCommit.push(() => removeBlobDrafts(core, Date.now() - hourMs))
        draft.afterCommit.push(() =>
          removeBlobs(
            core,
            blobs.map(({ hash }) => hash),
          ),
        )
      }
      options.onProgress?.({ phase: "done", done: 1, total: 1 })
      return {
        messages,
        sessions: imports.length,
        blobs: blobs.length,
        blobBytes: blobs.reduce((sum, { bytes }) => sum + bytes, 0),
      }
    },
  }
}

/** Deletes expired records of taken inbox items. Reads every session. */
async function forgetTaken(core: Core, draft: BatchDraft, options: CollectOptions): Promise<void> {
  const latest = core.clock.now() - takenAgeMs
  const entries = [...core.tracked.values()].filter((tracked) => !tracked.problem)
  for (const [done, tracked] of entries.entries()) {
    options.signal?.throwIfAborted()
    options.onProgress?.({ phase: "sessions", done, total: entries.length })
    const wasLoaded = tracked.appendState !== undefined
    try {
      await load(core, tracked)
    } catch {
      // `check` reports the problem.
      continue
    }
    const session = core.state.sessions.get(tracked.id)!
    const old = [...session.taken].filter(([, item]) => item.time <= latest)
    if (old.length > 0) {
      for (const [id] of old) session.taken.delete(id)
      draft.onUndo(() => {
        for (const [id, item] of old) session.taken.set(id, item)
      })
      draft.append(tracked, "state", formatLines([{ type: "forget", taken: old.map(([id]) => id) }]))
    } else if (!wasLoaded && !session.importing) core.unload(tracked)
  }
}

function forgetTombstones(core: Core, draft: BatchDraft, nowMs: number): void {
  const { tombstones } = core.state
  const old = [...tombstones.values()].filter(({ time }) => time <= nowMs - tombstoneAgeMs)
  if (old.length === 0) return
  for (const { sessionID } of old) tombstones.delete(sessionID)
  draft.onUndo(() => {
    for (const tombstone of old) tombstones.set(tombstone.sessionID, tombstone)
  })
  draft.replaceTombstones()
}
