import { newestVersion, reachedLists } from "../../plain/index.ts"
import { type Core, damagedFile, type TrackedSession } from "../core.ts"
import { type FoundIndex, readIndex } from "../disk/index-file.ts"
import { type FoundFiles, scanFiles, sessionFolders } from "../disk/scan.ts"
import { readTombstones } from "../disk/tombstones.ts"
import { parseLines } from "../format/lines.ts"
import { questionsOf, summarize } from "../format/summary.ts"
import { isOurs } from "../journal/append-state.ts"
import type { Batch } from "../journal/journal.ts"
import { applyBatch } from "./follow.ts"
import { asStemmaError, putLoaded } from "./loader.ts"
import { recordMissing } from "./missing-files.ts"
import { type LoadedSession, sessionFromLines, stateFromLines } from "./session-from-lines.ts"

/** What other programs wrote and the catalog has found, but not adopted. */
export interface Unadopted {
  /** Main files without a known session. `listed` is their entry in the index that another program wrote. */
  foreign: { files: FoundFiles; listed: Record<string, unknown> | undefined }[]
  /** Sessions whose main file is longer than the bytes that are accounted for. */
  grown: TrackedSession[]
}

/**
 * Finds all sessions: from the index files, then from the journal, then from the files themselves. Reads a session's
 * files only if they contradict the index. `batches` are the batches of the journal. `shifted` are files that are
 * longer than the journal says.
 */
export async function readCatalog(
  core: Core,
  batches: Batch[],
  options: { locked: boolean; shifted: Set<string> },
): Promise<Unadopted> {
  const { found: files, missingMain } = await scanFiles(core, { tidy: options.locked })
  const indexes = new Map<string, FoundIndex>()
  for (const folder of sessionFolders(core)) indexes.set(folder, readIndex(core, folder))

  const found = new Map<string, FoundFiles>()
  for (const sessionFiles of files) {
    const other = found.get(sessionFiles.id)
    if (other)
      core.warn(
        `${core.mainFile(sessionFiles)} is ignored, because ${core.mainFile(other)} has the same session id.`,
      )
    else found.set(sessionFiles.id, sessionFiles)
  }
  for (const sessionFiles of found.values()) putIndexed(core, sessionFiles, indexes.get(sessionFiles.folder)!)
  core.staleIndexes.clear()
  core.addTombstones(readTombstones(core.files))
  for (const batch of batches) applyBatch(core, batch)
  core.state.version = Math.max(core.state.version, core.journal.version)

  const recent = new Set(batches.flatMap((batch) => Object.keys(batch.sessions)))
  const unadopted: Unadopted = { foreign: [], grown: [] }
  for (const sessionFiles of found.values()) {
    const index = indexes.get(sessionFiles.folder)!
    const timed = !recent.has(sessionFiles.id) && index.known.get(sessionFiles.id)
    const tracked = core.tracked.get(sessionFiles.id)
    const fits =
      tracked && core.state.sessions.has(sessionFiles.id) && matchesFiles(core, tracked, sessionFiles)
    const touched =
      timed && (timed.mainMs !== sessionFiles.main.mtimeMs || timed.stateMs !== sessionFiles.state?.mtimeMs)
    if (!sessionFiles.state && !(tracked && isPending(core, core.stateFile(tracked)))) {
      core.forget(sessionFiles.id)
      unadopted.foreign.push({ files: sessionFiles, listed: index.others.get(sessionFiles.id) })
      continue
    }
    if (!fits || touched || options.shifted.has(core.mainFile(sessionFiles)))
      await rebuildFromFiles(core, sessionFiles, options)
    const now = core.tracked.get(sessionFiles.id)
    if (now && !now.problem && sessionFiles.main.size > now.main) unadopted.grown.push(now)
  }
  for (const [id, tracked] of core.tracked) {
    if (!found.has(id) && !isPending(core, core.mainFile(tracked))) core.forget(id)
  }
  if (options.locked) {
    recordMissing(core, missingMain)
    const removed = new Set(
      batches.flatMap(({ sessions }) => Object.keys(sessions).filter((id) => !sessions[id])),
    )
    for (const [folder, { known }] of indexes) {
      for (const [id, { name }] of known) {
        const file = core.mainFile({ folder, name })
        if (found.has(id) || removed.has(id) || core.state.tombstones.has(id)) continue
        recordMissing(core, [file])
        core.staleIndexes.add(folder)
      }
    }
  }
  return unadopted
}

function putIndexed(core: Core, sessionFiles: FoundFiles, index: FoundIndex): void {
  const extra = index.known.get(sessionFiles.id)
  if (!extra || extra.name !== sessionFiles.name) return
  const tracked = core.track({ id: sessionFiles.id, folder: sessionFiles.folder, name: sessionFiles.name })
  tracked.main = extra.main
  tracked.state = extra.state
  core.putStub(tracked, extra.summary)
}

/**
 * True if the sizes of the files match what is tracked. The main file may be longer, because another program may have
 * appended to it.
 */
function matchesFiles(core: Core, tracked: TrackedSession, sessionFiles: FoundFiles): boolean {
  const main = sessionFiles.main.size >= tracked.main || isPending(core, core.mainFile(tracked))
  const state = sessionFiles.state?.size === tracked.state || isPending(core, core.stateFile(tracked))
  return main && state && tracked.folder === sessionFiles.folder && tracked.name === sessionFiles.name
}

/** True if the newest batch of the journal, which may not be in the files yet, writes the file. */
function isPending(core: Core, file: string): boolean {
  const { last } = core.journal
  if (!last) return false
  return (
    last.appends.some((append) => append.file === file) ||
    Boolean(last.renames?.some(([, to]) => to === file))
  )
}

/** Reads a session from its files only. A session that cannot be read stays listed with the fields that are known. */
async function rebuildFromFiles(
  core: Core,
  sessionFiles: FoundFiles,
  options: { locked: boolean },
): Promise<void> {
  const known = core.tracked.get(sessionFiles.id)
  const tracked =
    known ?? core.track({ id: sessionFiles.id, folder: sessionFiles.folder, name: sessionFiles.name })
  core.markStale(tracked)
  try {
    const loaded = await readFiles(core, tracked, options)
    let { newest } = loaded.session
    for (const message of reachedLists(loaded.session).flat())
      newest = Math.max(newest, newestVersion(message))
    loaded.session.newest = newest
    putLoaded(core, tracked, loaded)
    // Only the summary was needed. The messages are read again when a call needs them.
    core.unload(tracked)
  } catch (error) {
    tracked.problem = asStemmaError(error)
    core.warn(tracked.problem.message)
    if (!core.state.sessions.has(sessionFiles.id)) await putStubFromState(core, tracked)
  }
}

async function readFiles(
  core: Core,
  tracked: TrackedSession,
  options: { locked: boolean },
): Promise<LoadedSession> {
  const mainFile = core.mainFile(tracked)
  const stateFile = core.stateFile(tracked)
  const main = await parseLines(await core.files.readLater(mainFile), { file: mainFile })
  const state = await parseLines(await core.files.readLater(stateFile), { file: stateFile })
  tracked.state = state.end
  const torn = (core.files.stat(stateFile)?.size ?? 0) - state.end
  if (torn > 0 && options.locked) {
    core.files.truncate(stateFile, state.end)
    core.warn(`${stateFile} ended in the middle of a line; ${torn} bytes were cut off.`)
  }
  const { adopted } = stateFromLines(state.lines, stateFile)
  const known = main.lines.findLast((line) => line.value.type === "session" || isOurs(line))
  tracked.main = Math.max(known?.to ?? 0, ...adopted.flatMap(({ ranges }) => ranges.map(([, to]) => to)))
  if (tracked.main > main.end) throw damagedFile(mainFile, "is shorter than before: some bytes were lost")
  if (tracked.main === 0) throw damagedFile(mainFile, "has no line of this session")
  return sessionFromLines({
    folder: tracked.folder,
    mainFile,
    stateFile,
    main: main.lines.filter((line) => line.from < tracked.main),
    state: state.lines,
    unended: main.unended && main.lines.at(-1)?.to === tracked.main,
  })
}

/** Lists a session with a damaged main file by the fields in its state file. */
async function putStubFromState(core: Core, tracked: TrackedSession): Promise<void> {
  try {
    const file = core.stateFile(tracked)
    const { lines } = await parseLines(await core.files.readLater(file), { file })
    const { session, snapshot, chain } = stateFromLines(lines, file)
    const summary = summarize(session, {
      family: snapshot.family,
      tokens: 0,
      blobs: [],
      questions: questionsOf(session),
    })
    core.putStub(tracked, { ...summary, chain: chain.map((link) => ({ ...link, count: 0 })) })
  } catch {
    // Neither file can be read, so the session has only its `problem`.
  }
}
