import { encodeCursor } from "../../cursor.ts"
import { namesOf, type PlainSession } from "../../plain/index.ts"
import { type Core, type Entry, removedName } from "../core.ts"
import { readTombstones } from "../disk/tombstones.ts"
import { decodeMessage, entryID, groupMessages } from "../format/decode.ts"
import { settle } from "../format/encode.ts"
import { parseLinesNow } from "../format/lines.ts"
import type { StateLine } from "../format/state-line.ts"
import { type AppendState, freeID } from "../journal/append-state.ts"
import type { Batch, SessionChange } from "../journal/journal.ts"
import { type OpenTrack, Replay } from "../journal/replay.ts"

/** Takes in what other processes committed. False if too much was missed: then everything must be read again. */
export function follow(core: Core): boolean {
  const batches = core.journal.readNew()
  if (batches === "lost" || (core.provisional && batches.length > 0)) return false
  for (const batch of batches) takeBatch(core, batch)
  return true
}

/** Does in memory what a batch did to the files. Doing it again changes nothing. */
export function takeBatch(core: Core, batch: Batch): void {
  core.state.version = Math.max(core.state.version, batch.version)
  for (const { file } of batch.appends) core.unsynced.add(file)
  for (const [, file] of batch.renames ?? []) core.unsynced.add(file)
  const touched: string[] = []
  for (const [id, change] of Object.entries(batch.sessions)) {
    const known = core.state.sessions.get(id)
    if (change === null) core.drop(id)
    else takeChange(core, { id, change, batch })
    const session = core.state.sessions.get(id) ?? known
    if (session && !session.importing) touched.push(id)
  }
  core.bury(batch.tombstones ?? [])
  if (batch.renames?.some(([, file]) => file === removedName)) {
    core.state.tombstones.clear()
    core.bury(readTombstones(core.files))
  }
  core.watchers.notify(encodeCursor(core.state.storeID, core.state.version), touched)
}

function takeChange(
  core: Core,
  { id, change, batch }: { id: string; change: SessionChange; batch: Batch },
): void {
  const { folder, name, summary } = change
  const replicaPart = core.entries.get(id) ?? core.addEntry({ id, folder, name })
  core.stale(replicaPart)
  const grown = grownBy(core, replicaPart, batch)
  replicaPart.main = change.main
  replicaPart.state = change.state
  if (grown && summary) {
    replicaPart.tokens = summary.tokens
    replicaPart.blobs = new Set(summary.blobs)
    replicaPart.questions = summary.questions
  }
  if (grown) return
  if (summary) core.putShell(replicaPart, summary)
  else core.unload(replicaPart)
  const session = core.state.sessions.get(id)
  if (!session) return
  session.seq = change.seq
  session.newest = change.newest
}

/** Takes new lines into a session that is loaded; false if it is not, or if the lines change more than its end. */
function grownBy(core: Core, replicaPart: Entry, batch: Batch): boolean {
  const session = core.state.sessions.get(replicaPart.id)
  const { appendState } = replicaPart
  if (!session || !appendState) return false
  const files = { main: core.mainFile(replicaPart), state: core.stateFile(replicaPart) }
  if (batch.renames?.some(([, file]) => file === files.main || file === files.state)) return false
  const text = { main: "", state: "" }
  for (const kind of ["main", "state"] as const) {
    const append = batch.appends.find(({ file }) => file === files[kind])
    if (!append) continue
    if (append.at !== replicaPart[kind]) return false
    text[kind] = append.text
  }
  const names = namesOf(session.info)
  try {
    return growSession(session, appendState, { files, ...text })
  } catch {
    // Reading it again from its files tells what is wrong with them.
    return false
  } finally {
    core.rename(session, names)
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
  const open: OpenTrack | undefined = last && !last.sealed ? { chain, position, message: last } : undefined
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
  settle(session, appendState)
  return true
}
