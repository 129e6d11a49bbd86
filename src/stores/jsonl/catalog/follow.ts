import { encodeCursor } from "../../cursor.ts"
import { namesOf, type PlainSession } from "../../plain/index.ts"
import { type Core, removedName, type TrackedSession } from "../core.ts"
import { readTombstones } from "../disk/tombstones.ts"
import { decodeMessage, entryID, groupMessages } from "../format/decode.ts"
import { markWritten } from "../format/encode.ts"
import { parseLinesNow } from "../format/lines.ts"
import type { StateLine } from "../format/state-line.ts"
import { type AppendState, freeID } from "../journal/append-state.ts"
import type { Batch, SessionChange } from "../journal/journal.ts"
import { Replay, type ReplayedOpenMessage } from "../journal/replay.ts"

/**
 * Applies the batches that other processes added to the journal. Returns false if batches were missed, so that
 * everything must be read again.
 */
export function follow(core: Core): boolean {
  const batches = core.journal.readNew()
  if (batches === "missed" || (core.adoptedInMemoryOnly && batches.length > 0)) return false
  for (const batch of batches) applyBatch(core, batch)
  return true
}

/** Applies a batch of the journal to memory. Idempotent. */
export function applyBatch(core: Core, batch: Batch): void {
  core.state.version = Math.max(core.state.version, batch.version)
  for (const { file } of batch.appends) core.unsynced.add(file)
  for (const [, file] of batch.renames ?? []) core.unsynced.add(file)
  const touched: string[] = []
  for (const [id, change] of Object.entries(batch.sessions)) {
    const known = core.state.sessions.get(id)
    if (change === null) core.forget(id)
    else applySessionChange(core, { id, change, batch })
    const session = core.state.sessions.get(id) ?? known
    if (session && !session.importing) touched.push(id)
  }
  core.addTombstones(batch.tombstones ?? [])
  if (batch.renames?.some(([, file]) => file === removedName)) {
    core.state.tombstones.clear()
    core.addTombstones(readTombstones(core.files))
  }
  core.watchers.notify(encodeCursor(core.state.storeID, core.state.version), touched)
}

function applySessionChange(
  core: Core,
  { id, change, batch }: { id: string; change: SessionChange; batch: Batch },
): void {
  const { folder, name, summary } = change
  const tracked = core.tracked.get(id) ?? core.track({ id, folder, name })
  core.markStale(tracked)
  const grown = appendToLoaded(core, tracked, batch)
  tracked.main = change.main
  tracked.state = change.state
  if (grown && summary) {
    tracked.tokens = summary.tokens
    tracked.blobs = new Set(summary.blobs)
    tracked.questions = summary.questions
  }
  if (grown) return
  if (summary) core.putStub(tracked, summary)
  else core.unload(tracked)
  const session = core.state.sessions.get(id)
  if (!session) return
  session.seq = change.seq
  session.newest = change.newest
}

/**
 * Applies new lines to a session that is loaded. Returns false if the session is not loaded, or if the lines change
 * more than its end.
 */
function appendToLoaded(core: Core, tracked: TrackedSession, batch: Batch): boolean {
  const session = core.state.sessions.get(tracked.id)
  const { appendState } = tracked
  if (!session || !appendState) return false
  const files = { main: core.mainFile(tracked), state: core.stateFile(tracked) }
  if (batch.renames?.some(([, file]) => file === files.main || file === files.state)) return false
  const text = { main: "", state: "" }
  for (const kind of ["main", "state"] as const) {
    const append = batch.appends.find(({ file }) => file === files[kind])
    if (!append) continue
    if (append.at !== tracked[kind]) return false
    text[kind] = append.text
  }
  const names = namesOf(session.info)
  try {
    return growSession(session, appendState, { files, ...text })
  } catch {
    // The session is unloaded, and the next read of its files reports the problem.
    return false
  } finally {
    core.updateNames(session, names)
  }
}

function growSession(
  session: PlainSession,
  appendState: AppendState,
  grown: { files: { main: string; state: string }; main: string; state: string },
): boolean {
  const main = parseLinesNow(Buffer.from(grown.main), { file: grown.files.main }).lines
  const state = parseLinesNow(Buffer.from(grown.state), { file: grown.files.state }).lines
  const lines = state.map((line) => line.value as unknown as StateLine)
  if (
    lines.some((line) => line.type === "snapshot" || (line.type === "commit" && (line.chain || line.adopt)))
  ) {
    return false
  }
  const chain = session.left.length
  const last = session.messages.at(-1)
  const position = session.messages.length - 1
  const open: ReplayedOpenMessage | undefined =
    last && !last.sealed ? { chain, position, message: last } : undefined
  for (const group of groupMessages(main)) {
    const message = decodeMessage(group, { segment: session.segment, sessionID: session.info.id })
    if (!message || group.extra.at[0] !== chain || group.extra.at[1] !== appendState.written) return false
    session.messages[appendState.written] = message
    session.positions.set(message.body.id, appendState.written)
    appendState.leaves[appendState.written] = entryID(group.further.at(-1) ?? group.first) ?? message.body.id
    appendState.written++
  }
  for (const line of main) {
    const id = entryID(line)
    if (id === undefined) continue
    freeID(appendState.ids, id)
    appendState.leaf = id
  }
  const replay = new Replay(session, { open, addNote: (note) => session.notes.push(note) })
  for (const line of lines) replay.take(line)
  const { open: now } = replay
  if (now && now.position === appendState.written) {
    now.message.origin = `${session.segment}/${now.position}`
    session.messages[now.position] = now.message
    session.positions.set(now.message.body.id, now.position)
  }
  if (grown.main !== "") appendState.unended = false
  markWritten(session, appendState)
  return true
}
