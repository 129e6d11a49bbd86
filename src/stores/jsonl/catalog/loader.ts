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
      const missing = names.filter((id) => core.entries.get(id)?.appendState === undefined)
      const entries = missing.flatMap((id) => core.entries.get(id) ?? [])
      if (entries.length === 0) break
      for (const replicaPart of entries) {
        replicaPart.pins++
        pinned.push(replicaPart)
      }
      for (const replicaPart of entries) await load(core, replicaPart)
    }
    for (const id of names) {
      const replicaPart = core.entries.get(id)
      if (replicaPart) replicaPart.usedAt = performance.now()
    }
    return use()
  } finally {
    for (const replicaPart of pinned) replicaPart.pins--
  }
}

/** Reads one session into memory. */
export async function load(core: Core, replicaPart: Entry): Promise<void> {
  if (replicaPart.problem) throw replicaPart.problem
  replicaPart.usedAt = performance.now()
  if (replicaPart.appendState) return
  replicaPart.loading ??= loadFiles(core, replicaPart).finally(() => {
    replicaPart.loading = undefined
  })
  await replicaPart.loading
}

async function loadFiles(core: Core, replicaPart: Entry): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { main, state } = replicaPart
    try {
      const loaded = await readSession(core, replicaPart)
      if (core.entries.get(replicaPart.id) !== replicaPart || replicaPart.appendState) return
      // Others may have written while the files were read.
      if (replicaPart.main === main && replicaPart.state === state) {
        install(core, replicaPart, loaded)
        return
      }
    } catch (error) {
      // A process that reads without the lock may have met another one's writing half done.
      const followed = follow(core)
      if (core.entries.get(replicaPart.id) !== replicaPart) return
      if (!followed) throw new MissedError(asStemmaError(error))
      const same = replicaPart.main === main && replicaPart.state === state
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

export function install(core: Core, replicaPart: Entry, { session, appendState }: LoadedSession): void {
  replicaPart.problem = undefined
  replicaPart.appendState = appendState
  replicaPart.family = appendState.family
  replicaPart.tokens = estimateSession(session)
  replicaPart.blobs = sessionBlobs(session)
  replicaPart.questions = questionsOf(session)
  core.putSession(session)
}

/** Both files as far as they are accounted for, put together. */
export async function readSession(core: Core, replicaPart: Entry): Promise<LoadedSession> {
  const mainFile = core.mainFile(replicaPart)
  const stateFile = core.stateFile(replicaPart)
  const main = await parseLines(await readKnown(core, mainFile, replicaPart.main), { file: mainFile })
  const state = await parseLines(await readKnown(core, stateFile, replicaPart.state), { file: stateFile })
  if (main.end < replicaPart.main) throw damaged(mainFile, "ends in the middle of a line")
  if (state.end < replicaPart.state) throw damaged(stateFile, "ends in the middle of a line")
  return loadSession({
    folder: replicaPart.folder,
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
  const loaded = [...core.entries.values()].filter(
    (replicaPart) => replicaPart.appendState && replicaPart.pins === 0,
  )
  if (loaded.length <= loadedMax) return
  const latest = now - idleMs
  loaded.sort((a, b) => a.usedAt - b.usedAt)
  for (const replicaPart of loaded.slice(0, loaded.length - loadedMax)) {
    if (replicaPart.usedAt <= latest) core.unload(replicaPart)
  }
}
