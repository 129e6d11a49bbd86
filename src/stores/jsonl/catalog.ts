import { newestVersion, reachedLists } from "../plain/index.ts"
import { isOurs } from "./book.ts"
import { type Core, damaged, type Entry } from "./core.ts"
import { takeBatch } from "./follow.ts"
import { type FoundIndex, readIndex } from "./index-file.ts"
import type { Batch } from "./journal.ts"
import { type Line, parseLines } from "./lines.ts"
import { type LoadedSession, loadSession } from "./load.ts"
import { install } from "./loader.ts"
import { type FoundFiles, scanFiles } from "./scan.ts"
import type { CommitLine, SnapshotLine, StateLine } from "./state-line.ts"
import { readTombstones } from "./tombstones.ts"

/** What could not be settled by looking alone. */
export interface Unsettled {
  /** Files of no session that we know. */
  foreign: { files: FoundFiles; listed: Record<string, unknown> | undefined }[]
  /** Sessions whose main file is longer than what is accounted for. */
  grown: Entry[]
}

/**
 * Learns which sessions there are: from the indexes, then from the journal, then from what the files look like. Only
 * sessions whose files tell something else are read. `batches` are those of the journal.
 */
export async function readCatalog(
  core: Core,
  batches: Batch[],
  options: { locked: boolean },
): Promise<Unsettled> {
  const files = await scanFiles(core, { tidy: options.locked })
  const indexes = new Map<string, FoundIndex>()
  for (const { folder } of files) if (!indexes.has(folder)) indexes.set(folder, readIndex(core, folder))

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
    if (!fits || touched) await rebuild(core, one, options)
    const now = core.entries.get(one.id)
    if (now && !now.problem && one.main.size > now.main) unsettled.grown.push(now)
  }
  for (const [id, entry] of core.entries) {
    if (!found.has(id) && !isPending(core, core.mainFile(entry))) core.drop(id)
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
    entry.problem = error as Entry["problem"]
    core.warn((error as Error).message)
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
  const ours = main.lines.filter((line) => isAccounted(line, state.lines))
  entry.main = ours.at(-1)?.to ?? 0
  if (ours.length === 0 && main.lines.length > 0) throw damaged(mainFile, "is not the file of this session")
  return loadSession({
    folder: entry.folder,
    mainFile,
    stateFile,
    main: main.lines.filter((line) => line.from < entry.main),
    state: state.lines,
    unended: main.unended && main.lines.at(-1)?.to === entry.main,
  })
}

/** True for the header, for our lines and for those that were adopted. */
function isAccounted(line: Line, state: Line[]): boolean {
  if (line.value.type === "session" || isOurs(line)) return true
  return adoptedRanges(state).some(([from, to]) => line.from >= from && line.from < to)
}

const rangesOf = new WeakMap<Line[], [from: number, to: number][]>()

function adoptedRanges(state: Line[]): [from: number, to: number][] {
  let ranges = rangesOf.get(state)
  if (!ranges) {
    ranges = state.flatMap((line) => {
      const value = line.value as unknown as StateLine
      if (value.type === "snapshot") return value.adopted.flatMap((adoption) => adoption.ranges)
      return value.type === "commit" ? (value.adopt?.ranges ?? []) : []
    })
    rangesOf.set(state, ranges)
  }
  return ranges
}

/** A session whose main file is damaged is still listed with what its state file says. */
async function putWhatIsKnown(core: Core, entry: Entry): Promise<void> {
  try {
    const file = core.stateFile(entry)
    const { lines } = await parseLines(await core.files.readLater(file), { file })
    const snapshot = lines[0]!.value as unknown as SnapshotLine
    const commits = lines
      .map((line) => line.value as unknown as CommitLine)
      .filter((line) => line.type === "commit")
    const chain = [...snapshot.chain, ...commits.flatMap((line) => line.chain ?? [])]
    core.putShell(entry, {
      ...snapshot,
      ...commits.at(-1),
      info: Object.assign({}, snapshot.info, ...commits.map((line) => line.info?.set ?? {})),
      newest: commits.at(-1)?.v ?? snapshot.newest,
      seq: commits.at(-1)?.seq ?? snapshot.seq,
      chain: chain.map((link) => ({ ...link, count: 0 })),
      blobs: [],
      tokens: 0,
    })
  } catch {
    // Neither file can be read: the session is known by its problem only.
  }
}
