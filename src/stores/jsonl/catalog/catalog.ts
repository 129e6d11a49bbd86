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
import { noteLost } from "./lost.ts"

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
    const entry = core.entries.get(one.id)
    const fits = entry && core.state.sessions.has(one.id) && isAsKnown(core, entry, one)
    const touched = timed && (timed.mainMs !== one.main.mtimeMs || timed.stateMs !== one.state?.mtimeMs)
    if (!one.state && !(entry && isPending(core, core.stateFile(entry)))) {
      core.drop(one.id)
      unsettled.foreign.push({ files: one, listed: index.others.get(one.id) })
      continue
    }
    if (!fits || touched || options.shifted.has(core.mainFile(one))) await rebuild(core, one, options)
    const now = core.entries.get(one.id)
    if (now && !now.problem && one.main.size > now.main) unsettled.grown.push(now)
  }
  for (const [id, entry] of core.entries) {
    if (!found.has(id) && !isPending(core, core.mainFile(entry))) core.drop(id)
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
  const entry = core.addEntry({ id: one.id, folder: one.folder, name: one.name })
  entry.main = extra.main
  entry.state = extra.state
  core.putShell(entry, extra.summary)
}

/** True if the files may be what the session's entry says; the main file may have grown by another program's hand. */
function isAsKnown(core: Core, entry: Entry, one: FoundFiles): boolean {
  const main = one.main.size >= entry.main || isPending(core, core.mainFile(entry))
  const state = one.state?.size === entry.state || isPending(core, core.stateFile(entry))
  return main && state && entry.folder === one.folder && entry.name === one.name
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
  const entry = known ?? core.addEntry({ id: one.id, folder: one.folder, name: one.name })
  core.stale(entry)
  try {
    const loaded = await readFiles(core, entry, options)
    let { newest } = loaded.session
    for (const message of reachedLists(loaded.session).flat())
      newest = Math.max(newest, newestVersion(message))
    loaded.session.newest = newest
    install(core, entry, loaded)
    // It was read to know its summary; its messages are read when somebody asks for them.
    core.unload(entry)
  } catch (error) {
    entry.problem = asStemmaError(error)
    core.warn(entry.problem.message)
    if (!core.state.sessions.has(one.id)) await putWhatIsKnown(core, entry)
  }
}

async function readFiles(core: Core, entry: Entry, options: { locked: boolean }): Promise<LoadedSession> {
  const mainFile = core.mainFile(entry)
  const stateFile = core.stateFile(entry)
  const main = await parseLines(await core.files.readLater(mainFile), { file: mainFile })
  const state = await parseLines(await core.files.readLater(stateFile), { file: stateFile })
  entry.state = state.end
  const torn = (core.files.stat(stateFile)?.size ?? 0) - state.end
  if (torn > 0 && options.locked) {
    core.files.truncate(stateFile, state.end)
    core.warn(`${stateFile} ended in the middle of a line; ${torn} bytes were cut off.`)
  }
  const { adopted } = loadState(state.lines, stateFile)
  const known = main.lines.findLast((line) => line.value.type === "session" || isOurs(line))
  entry.main = Math.max(known?.to ?? 0, ...adopted.flatMap(({ ranges }) => ranges.map(([, to]) => to)))
  if (entry.main > main.end) throw damaged(mainFile, "is shorter than it was: some of it was lost")
  if (entry.main === 0) throw damaged(mainFile, "is not the file of this session")
  return loadSession({
    folder: entry.folder,
    mainFile,
    stateFile,
    main: main.lines.filter((line) => line.from < entry.main),
    state: state.lines,
    unended: main.unended && main.lines.at(-1)?.to === entry.main,
  })
}

/** A session whose main file is damaged is still listed with what its state file says. */
async function putWhatIsKnown(core: Core, entry: Entry): Promise<void> {
  try {
    const file = core.stateFile(entry)
    const { lines } = await parseLines(await core.files.readLater(file), { file })
    const { session, snapshot, chain } = loadState(lines, file)
    const summary = summarize(session, {
      family: snapshot.family,
      tokens: 0,
      blobs: [],
      questions: questionsOf(session),
    })
    core.putShell(entry, { ...summary, chain: chain.map((link) => ({ ...link, count: 0 })) })
  } catch {
    // Neither file can be read: the session is known by its problem only.
  }
}
