import { StemmaError } from "../../../protocol/index.ts"
import { type Core, damagedFile, type TrackedSession } from "../core.ts"
import { parseLines } from "../format/lines.ts"
import { estimateSession, questionsOf, sessionBlobs } from "../format/summary.ts"
import { follow } from "./follow.ts"
import { type LoadedSession, sessionFromLines } from "./session-from-lines.ts"

const retriesMax = 5
const loadedMax = 64
const idleMs = 2000
const unloadEveryMs = 250

/**
 * Loads the messages of sessions into memory and keeps them there while `use` runs. Ignores unknown ids, because `use`
 * reports them.
 */
export async function withLoaded<T>(core: Core, ids: Iterable<string>, use: () => T): Promise<T> {
  const names = [...ids]
  const pinned: TrackedSession[] = []
  try {
    for (;;) {
      const missing = names.filter((id) => core.tracked.get(id)?.appendState === undefined)
      const entries = missing.flatMap((id) => core.tracked.get(id) ?? [])
      if (entries.length === 0) break
      for (const tracked of entries) {
        tracked.pins++
        pinned.push(tracked)
      }
      for (const tracked of entries) await load(core, tracked)
    }
    for (const id of names) {
      const tracked = core.tracked.get(id)
      if (tracked) tracked.usedAt = performance.now()
    }
    return use()
  } finally {
    for (const tracked of pinned) tracked.pins--
  }
}

/** Loads the messages of one session into memory. */
export async function load(core: Core, tracked: TrackedSession): Promise<void> {
  if (tracked.problem) throw tracked.problem
  tracked.usedAt = performance.now()
  if (tracked.appendState) return
  tracked.loading ??= loadFiles(core, tracked).finally(() => {
    tracked.loading = undefined
  })
  await tracked.loading
}

async function loadFiles(core: Core, tracked: TrackedSession): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { main, state } = tracked
    try {
      const loaded = await readSession(core, tracked)
      if (core.tracked.get(tracked.id) !== tracked || tracked.appendState) return
      // Other processes may have written while the files were read.
      if (tracked.main === main && tracked.state === state) {
        putLoaded(core, tracked, loaded)
        return
      }
    } catch (error) {
      // This read did not hold the lock, so it may have seen files in the middle of another process's batch.
      const followed = follow(core)
      if (core.tracked.get(tracked.id) !== tracked) return
      if (!followed) throw new RereadNeededError(asStemmaError(error))
      const same = tracked.main === main && tracked.state === state
      if (same || tries === retriesMax) throw asStemmaError(error)
    }
  }
}

/** A session could not be read, and the journal no longer has all batches since. Everything must be read again. */
export class RereadNeededError extends StemmaError {
  constructor(error: StemmaError) {
    super(error.code, error.message, { details: error.details, cause: error })
  }
}

export function asStemmaError(error: unknown): StemmaError {
  if (StemmaError.is(error)) return error
  return new StemmaError(
    "internal",
    `A session cannot be read: ${String(error)}. Restore its files from a backup.`,
    {
      cause: error,
    },
  )
}

/** Replaces the stub of a session with the loaded session. */
export function putLoaded(
  core: Core,
  tracked: TrackedSession,
  { session, appendState }: LoadedSession,
): void {
  tracked.problem = undefined
  tracked.appendState = appendState
  tracked.family = appendState.family
  tracked.tokens = estimateSession(session)
  tracked.blobs = sessionBlobs(session)
  tracked.questions = questionsOf(session)
  core.putSession(session)
}

/** Reads the accounted bytes of both files and builds the session. */
export async function readSession(core: Core, tracked: TrackedSession): Promise<LoadedSession> {
  const mainFile = core.mainFile(tracked)
  const stateFile = core.stateFile(tracked)
  const main = await parseLines(await readKnown(core, mainFile, tracked.main), { file: mainFile })
  const state = await parseLines(await readKnown(core, stateFile, tracked.state), { file: stateFile })
  if (main.end < tracked.main) throw damagedFile(mainFile, "ends in the middle of a line")
  if (state.end < tracked.state) throw damagedFile(stateFile, "ends in the middle of a line")
  return sessionFromLines({
    folder: tracked.folder,
    mainFile,
    stateFile,
    main: main.lines,
    state: state.lines,
    unended: main.unended,
  })
}

/**
 * Reads the first `size` bytes of a file. If the newest batch is not in the file yet, its bytes come from the journal.
 */
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
  throw damagedFile(file, "is shorter than before: some bytes were lost")
}

/** Unloads the sessions that were not used lately, if more than `loadedMax` are loaded. */
export function unloadIdle(core: Core): void {
  const now = performance.now()
  if (core.adoptedInMemoryOnly || now - core.unloadedAt < unloadEveryMs) return
  core.unloadedAt = now
  const loaded = [...core.tracked.values()].filter((tracked) => tracked.appendState && tracked.pins === 0)
  if (loaded.length <= loadedMax) return
  const latest = now - idleMs
  loaded.sort((a, b) => a.usedAt - b.usedAt)
  for (const tracked of loaded.slice(0, loaded.length - loadedMax)) {
    if (tracked.usedAt <= latest) core.unload(tracked)
  }
}
