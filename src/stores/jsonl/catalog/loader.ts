import { StemmaError } from "../../../protocol/index.ts"
import { type Core, damaged, type Entry } from "../core.ts"
import { parseLines } from "../format/lines.ts"
import { estimateSession, questionsOf, sessionBlobs } from "../format/summary.ts"
import { follow } from "./follow.ts"
import { type LoadedSession, loadSession } from "./load.ts"

const retriesMax = 5
const loadedMax = 64
const idleMs = 2000
const dropEveryMs = 250

/**
 * Reads sessions into memory that are not there, and keeps them there while `use` runs. Ids that nobody has are left to
 * whoever asks for them.
 */
export async function withLoaded<T>(core: Core, ids: Iterable<string>, use: () => T): Promise<T> {
  const names = [...ids]
  const pinned: Entry[] = []
  try {
    for (;;) {
      const missing = names.filter((id) => core.entries.get(id)?.book === undefined)
      const entries = missing.flatMap((id) => core.entries.get(id) ?? [])
      if (entries.length === 0) break
      for (const entry of entries) {
        entry.pins++
        pinned.push(entry)
      }
      for (const entry of entries) await load(core, entry)
    }
    for (const id of names) {
      const entry = core.entries.get(id)
      if (entry) entry.usedAt = performance.now()
    }
    return use()
  } finally {
    for (const entry of pinned) entry.pins--
  }
}

/** Reads one session into memory. */
export async function load(core: Core, entry: Entry): Promise<void> {
  if (entry.problem) throw entry.problem
  entry.usedAt = performance.now()
  if (entry.book) return
  entry.loading ??= loadFiles(core, entry).finally(() => {
    entry.loading = undefined
  })
  await entry.loading
}

async function loadFiles(core: Core, entry: Entry): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { main, state } = entry
    try {
      const loaded = await readSession(core, entry)
      if (core.entries.get(entry.id) !== entry || entry.book) return
      // Others may have written while the files were read.
      if (entry.main === main && entry.state === state) {
        install(core, entry, loaded)
        return
      }
    } catch (error) {
      // A process that reads without the lock may have met another one's writing half done.
      const followed = follow(core)
      if (core.entries.get(entry.id) !== entry) return
      if (!followed) throw new MissedError(asStemmaError(error))
      const same = entry.main === main && entry.state === state
      if (same || tries === retriesMax) throw asStemmaError(error)
    }
  }
}

/** A session could not be read, and other processes did so much meanwhile that everything must be read again. */
export class MissedError extends StemmaError {
  constructor(error: StemmaError) {
    super(error.code, error.message, { details: error.details, cause: error })
  }
}

export function asStemmaError(error: unknown): StemmaError {
  if (StemmaError.is(error)) return error
  return new StemmaError(
    "internal",
    `A session cannot be read: ${String(error)}. Restore its files from a copy.`,
    {
      cause: error,
    },
  )
}

export function install(core: Core, entry: Entry, { session, book }: LoadedSession): void {
  entry.problem = undefined
  entry.book = book
  entry.family = book.family
  entry.tokens = estimateSession(session)
  entry.blobs = sessionBlobs(session)
  entry.questions = questionsOf(session)
  core.putSession(session)
}

/** Both files as far as they are accounted for, put together. */
export async function readSession(core: Core, entry: Entry): Promise<LoadedSession> {
  const mainFile = core.mainFile(entry)
  const stateFile = core.stateFile(entry)
  const main = await parseLines(await readKnown(core, mainFile, entry.main), { file: mainFile })
  const state = await parseLines(await readKnown(core, stateFile, entry.state), { file: stateFile })
  if (main.end < entry.main) throw damaged(mainFile, "ends in the middle of a line")
  if (state.end < entry.state) throw damaged(stateFile, "ends in the middle of a line")
  return loadSession({
    folder: entry.folder,
    mainFile,
    stateFile,
    main: main.lines,
    state: state.lines,
    unended: main.unended,
  })
}

/** The first `size` bytes of a file. The newest batch of the journal may not be in the file yet: it is read from there. */
async function readKnown(core: Core, file: string, size: number): Promise<Buffer> {
  const { last } = core.journal
  const draft = last?.renames?.find(([, target]) => target === file)?.[0]
  const name = draft !== undefined && core.files.stat(draft) ? draft : file
  const bytes = await core.files.readLater(name, 0, size)
  if (bytes.length === size) return bytes
  const append = last?.appends.find((candidate) => candidate.file === file)
  if (append && append.at <= bytes.length) {
    const whole = Buffer.concat([bytes.subarray(0, append.at), Buffer.from(append.text)])
    if (whole.length >= size) return whole.subarray(0, size)
  }
  throw damaged(file, "is shorter than it was: some of it was lost")
}

/** Drops sessions that nobody has asked for lately, if there are many. */
export function dropIdle(core: Core): void {
  const now = performance.now()
  if (core.provisional || now - core.droppedAt < dropEveryMs) return
  core.droppedAt = now
  const loaded = [...core.entries.values()].filter((entry) => entry.book && entry.pins === 0)
  if (loaded.length <= loadedMax) return
  const latest = now - idleMs
  loaded.sort((a, b) => a.usedAt - b.usedAt)
  for (const entry of loaded.slice(0, loaded.length - loadedMax)) {
    if (entry.usedAt <= latest) core.unload(entry)
  }
}
