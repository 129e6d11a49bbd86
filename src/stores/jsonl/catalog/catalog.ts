import { newestVersion, reachedLists } from "../../plain/index.ts"
import { type Core, damaged, type Entry } from "../core.ts"
import { type FoundIndex, readIndex } from "../disk/index-file.ts"
import { type FoundFiles, scanFiles, sessionFolders } from "../disk/scan.ts"
import { readTombstones } from "../disk/tombstones.ts"
import { parseLines } from "../format/lines.ts"
import { questionsOf, summarize } from "../format/summary.ts"
import { isOurs } from "../journal/append-state.ts"
import type { Batch } from "../journal/journal.ts"
import { takeBatch } from "./follow.ts"
import { type LoadedSession, loadSession, loadState } from "./load.ts"
import { asStemmaError, install } from "./loader.ts"
import { noteLost } from "./missing-files.ts"

/** What could not be settled by looking alone. */
export interface Unsettled {
  /** Files of no session that we know. */
  foreign: { files: FoundFiles; listed: Record<string, unknown> | undefined }[]
  /** Sessions whose main file is longer than what is accounted for. */
  grown: Entry[]
}

/**
 * Learns which sessions there are: from the indexes, then from the journal, then from what the files look like. Only
 * sessions whose files tell something else are read. `batches` are those of the journal, `shifted` the files of which it
 * does not say how long they are.
 */
export async function readCatalog(
  core: Core,
  batches: Batch[],
  options: { locked: boolean; shifted: Set<string> },
): Promise<Unsettled> {
  const { found: files, lost } = await scanFiles(core, { tidy: options.locked })
  const indexes = new Map<string, FoundIndex>()
  for (const folder of sessionFolders(core)) indexes.set(folder, readIndex(core, folder))

  const found = new Map<string, FoundFiles>()
  for (const one of files) {
    const other = found.get(one.id)
    if (other)
      core.warn(`${core.mainFile(one)} is left alone: ${core.mainFile(other)} has the same session id.`)
    else found.set(one.id, one)
  }
  for (const one of found.values()) putKnown(core, one, indexes.get(one.folder)!)
  core.staleIndexes.clear()
  core.bury(readTombstones(core.files))
  for (const batch of batches) takeBatch(core, batch)
  core.state.version = Math.max(core.state.version, core.journal.version)

  const recent = new Set(batches.flatMap((batch) => Object.keys(batch.sessions)))
  const unsettled: Unsettled = { foreign: [], grown: [] }
  for (const one of found.values()) {
    const index = indexes.get(one.folder)!
    const timed = !recent.has(one.id) && index.known.get(one.id)
    const replicaPart = core.entries.get(one.id)
    const fits = replicaPart && core.state.sessions.has(one.id) && isAsKnown(core, replicaPart, one)
    const touched = timed && (timed.mainMs !== one.main.mtimeMs || timed.stateMs !== one.state?.mtimeMs)
    if (!one.state && !(replicaPart && isPending(core, core.stateFile(replicaPart)))) {
      core.drop(one.id)
      unsettled.foreign.push({ files: one, listed: index.others.get(one.id) })
      continue
    }
    if (!fits || touched || options.shifted.has(core.mainFile(one))) await rebuild(core, one, options)
    const now = core.entries.get(one.id)
    if (now && !now.problem && one.main.size > now.main) unsettled.grown.push(now)
  }
  for (const [id, replicaPart] of core.entries) {
    if (!found.has(id) && !isPending(core, core.mainFile(replicaPart))) core.drop(id)
  }
  if (options.locked) {
    noteLost(core, lost)
    const removed = new Set(
      batches.flatMap(({ sessions }) => Object.keys(sessions).filter((id) => !sessions[id])),
    )
    for (const [folder, { known }] of indexes) {
      for (const [id, { name }] of known) {
        const file = core.mainFile({ folder, name })
        if (found.has(id) || removed.has(id) || core.state.tombstones.has(id)) continue
        noteLost(core, [file])
        core.staleIndexes.add(folder)
      }
    }
  }
  return unsettled
}

function putKnown(core: Core, one: FoundFiles, index: FoundIndex): void {
  const extra = index.known.get(one.id)
  if (!extra || extra.name !== one.name) return
  const replicaPart = core.addEntry({ id: one.id, folder: one.folder, name: one.name })
  replicaPart.main = extra.main
  replicaPart.state = extra.state
  core.putShell(replicaPart, extra.summary)
}

/** True if the files may be what the session's entry says; the main file may have grown by another program's hand. */
function isAsKnown(core: Core, replicaPart: Entry, one: FoundFiles): boolean {
  const main = one.main.size >= replicaPart.main || isPending(core, core.mainFile(replicaPart))
  const state = one.state?.size === replicaPart.state || isPending(core, core.stateFile(replicaPart))
  return main && state && replicaPart.folder === one.folder && replicaPart.name === one.name
}

/** True if the newest batch of the journal, which may not be done yet, writes the file. */
function isPending(core: Core, file: string): boolean {
  const { last } = core.journal
  if (!last) return false
  return (
    last.appends.some((append) => append.file === file) ||
    Boolean(last.renames?.some(([, to]) => to === file))
  )
}

/** Reads a session from nothing but its files. One that cannot be read stays in lists as far as it is known. */
async function rebuild(core: Core, one: FoundFiles, options: { locked: boolean }): Promise<void> {
  const known = core.entries.get(one.id)
  const replicaPart = known ?? core.addEntry({ id: one.id, folder: one.folder, name: one.name })
  core.stale(replicaPart)
  try {
    const loaded = await readFiles(core, replicaPart, options)
    let { newest } = loaded.session
    for (const message of reachedLists(loaded.session).flat())
      newest = Math.max(newest, newestVersion(message))
    loaded.session.newest = newest
    install(core, replicaPart, loaded)
    // It was read to know its summary; its messages are read when somebody asks for them.
    core.unload(replicaPart)
  } catch (error) {
    replicaPart.problem = asStemmaError(error)
    core.warn(replicaPart.problem.message)
    if (!core.state.sessions.has(one.id)) await putWhatIsKnown(core, replicaPart)
  }
}

async function readFiles(
  core: Core,
  replicaPart: Entry,
  options: { locked: boolean },
): Promise<LoadedSession> {
  const mainFile = core.mainFile(replicaPart)
  const stateFile = core.stateFile(replicaPart)
  const main = await parseLines(await core.files.readLater(mainFile), { file: mainFile })
  const state = await parseLines(await core.files.readLater(stateFile), { file: stateFile })
  replicaPart.state = state.end
  const torn = (core.files.stat(stateFile)?.size ?? 0) - state.end
  if (torn > 0 && options.locked) {
    core.files.truncate(stateFile, state.end)
    core.warn(`${stateFile} ended in the middle of a line; ${torn} bytes were cut off.`)
  }
  const { adopted } = loadState(state.lines, stateFile)
  const known = main.lines.findLast((line) => line.value.type === "session" || isOurs(line))
  replicaPart.main = Math.max(known?.to ?? 0, ...adopted.flatMap(({ ranges }) => ranges.map(([, to]) => to)))
  if (replicaPart.main > main.end) throw damaged(mainFile, "is shorter than it was: some of it was lost")
  if (replicaPart.main === 0) throw damaged(mainFile, "is not the file of this session")
  return loadSession({
    folder: replicaPart.folder,
    mainFile,
    stateFile,
    main: main.lines.filter((line) => line.from < replicaPart.main),
    state: state.lines,
    unended: main.unended && main.lines.at(-1)?.to === replicaPart.main,
  })
}

/** A session whose main file is damaged is still listed with what its state file says. */
async function putWhatIsKnown(core: Core, replicaPart: Entry): Promise<void> {
  try {
    const file = core.stateFile(replicaPart)
    const { lines } = await parseLines(await core.files.readLater(file), { file })
    const { session, snapshot, chain } = loadState(lines, file)
    const summary = summarize(session, {
      family: snapshot.family,
      tokens: 0,
      blobs: [],
      questions: questionsOf(session),
    })
    core.putShell(replicaPart, { ...summary, chain: chain.map((link) => ({ ...link, count: 0 })) })
  } catch {
    // Neither file can be read: the session is known by its problem only.
  }
}
