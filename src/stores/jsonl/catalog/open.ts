import { randomBytes } from "node:crypto"
import { parseJson, StemmaError } from "../../../protocol/index.ts"
import { currentHolder } from "../../holder.ts"
import type { Core, TrackedSession } from "../core.ts"
import type { FileStat, Files } from "../disk/files.ts"
import { readIndex } from "../disk/index-file.ts"
import { type FoundFiles, scanFiles } from "../disk/scan.ts"
import { adoptFile, adoptNewLines } from "../foreign/adoption.ts"
import { beginsSession } from "../format/header.ts"
import { badLine, isObject, lineBounds, parseGoodLines } from "../format/lines.ts"
import { BatchDraft } from "../journal/batch-draft.ts"
import { checkpoint } from "../journal/checkpoint.ts"
import { journalLengths, redo } from "../journal/recover.ts"
import { readCatalog } from "./catalog.ts"
import { asStemmaError } from "./loader.ts"
import { recordMissing, stateBeside, stillMissing } from "./missing-files.ts"

const storeName = "store.json"
const storeFormat = 1
/** The first line of a main file is not longer than this. */
const headBytes = 1024 * 1024

/** Returns the id of the store. With `create`, makes an id for a new store; the caller must hold the lock. */
export async function readStoreID(files: Files, options: { create: boolean }): Promise<string | undefined> {
  const text = files.read(storeName).toString("utf8")
  if (text !== "") return checkStore(files, text)
  if (!options.create) return undefined
  const id = randomBytes(8).toString("hex")
  await files.replace(storeName, Buffer.from(`${JSON.stringify({ format: storeFormat, id })}\n`), {
    sync: true,
  })
  return id
}

function checkStore(files: Files, text: string): string {
  const file = files.path(storeName)
  let value: unknown
  try {
    value = parseJson(text, lineBounds)
  } catch {
    value = undefined
  }
  if (!isObject(value) || typeof value.id !== "string" || !/^[0-9a-z]{1,32}$/.test(value.id)) {
    throw new StemmaError(
      "internal",
      `${file} is damaged. Delete it: the store creates a new file, and clients start again without their cursors.`,
      { details: { file } },
    )
  }
  if (typeof value.format === "number" && value.format <= storeFormat) return value.id
  throw new StemmaError(
    "unsupported",
    `${file} has format ${String(value.format)}, but this version of Stemma reads formats up to ${storeFormat}. Update Stemma.`,
    { details: { file, format: value.format } },
  )
}

/** Reads the whole store again. With the lock, first writes the batches that a dead process left unfinished. */
export async function reread(core: Core, options: { locked: boolean }): Promise<void> {
  const fresh = core.emptyCopy()
  const { journal } = fresh
  const batches = journal.readAll()
  const boot = currentHolder().bootID
  let shifted = new Set<string>()
  if (options.locked && batches) {
    if (journal.tornBytes() > 0) journal.cutTorn()
    shifted = await redo(fresh, journal.boot === boot ? batches.slice(-1) : batches)
  }
  fresh.unadopted = await readCatalog(fresh, batches ?? [], { ...options, shifted })
  for (const tracked of shifted.size > 0 ? fresh.tracked.values() : []) {
    if (shifted.has(fresh.mainFile(tracked)) && !tracked.problem) journalLengths(fresh, tracked)
  }
  if (options.locked && (!batches || journal.boot !== boot)) await checkpoint(fresh)
  if (core.readOnly) await adoptInMemory(fresh)
  core.replaceWith(fresh)
}

/** Adopts the files and lines of other programs that the last scan found. */
export async function adoptFound(core: Core, draft: BatchDraft): Promise<void> {
  const { foreign, grown } = core.unadopted
  core.unadopted = { foreign: [], grown: [] }
  for (const { files, listed } of foreign) {
    if (core.tracked.has(files.id)) continue
    try {
      if (isNotASession(core, files)) continue
      await adoptFile(core, files, { draft, listed })
    } catch (error) {
      recordProblem(core, core.tracked.get(files.id) ?? core.track(files), error)
    }
  }
  for (const tracked of grown) {
    if (core.tracked.get(tracked.id) !== tracked) continue
    try {
      await adoptNewLines(core, tracked, { draft, forWriting: false })
    } catch (error) {
      // The accounted bytes are readable. A call that uses the session reports the problem, until the file is repaired.
      tracked.seen = 0
      core.warnOnce(core.mainFile(tracked), asStemmaError(error).message)
    }
  }
}

/**
 * True for a file with the extension of a session but without a session in it. Throws if the file name is a session id.
 */
function isNotASession(core: Core, found: FoundFiles): boolean {
  const file = core.mainFile(found)
  const head = core.files.read(file, 0, headBytes)
  const end = head.indexOf("\n")
  const [first] = parseGoodLines(end < 0 ? head : head.subarray(0, end), { file })
  if (beginsSession(first?.value)) return false
  core.nonSessionFiles.set(file, stampOf(found.main))
  if (found.name !== found.id || end < 0) return true
  throw badLine(file, 1, "is neither a session header nor a message")
}

/** Returns a string that changes when the file changes. */
function stampOf({ size, mtimeMs }: FileStat): string {
  return `${size}/${mtimeMs}`
}

function recordProblem(core: Core, tracked: TrackedSession, error: unknown): void {
  tracked.problem = asStemmaError(error)
  core.warn(tracked.problem.message)
}

/** Adopts foreign lines in memory only, because the store is read-only. */
async function adoptInMemory(core: Core): Promise<void> {
  const { version } = core.state
  await adoptFound(core, new BatchDraft(core))
  if (core.state.version > version) core.adoptedInMemoryOnly = true
}

/** Scans for files that other programs added, extended or removed. Returns true if there is something to adopt. */
export async function scanForChanges(core: Core): Promise<boolean> {
  const { found, missingMain } = await scanFiles(core, { tidy: false })
  const ids = new Set<string>()
  for (const files of found) {
    ids.add(files.id)
    const tracked = core.tracked.get(files.id)
    if (!tracked || (tracked.problem && !core.state.sessions.has(tracked.id))) {
      if (core.nonSessionFiles.get(core.mainFile(files)) === stampOf(files.main)) continue
      core.tracked.delete(files.id)
      const { others } = readIndex(core, files.folder)
      core.unadopted.foreign.push({ files, listed: others.get(files.id) })
    } else if (files.main.size > tracked.main && files.main.size !== tracked.seen && !tracked.problem) {
      tracked.seen = files.main.size
      core.unadopted.grown.push(tracked)
    }
  }
  const missing = [...core.tracked.values()].filter(
    (tracked) => !ids.has(tracked.id) && !core.files.stat(core.mainFile(tracked)),
  )
  const stillGone = await stillMissing(core, [
    ...missingMain,
    ...missing.map((tracked) => core.mainFile(tracked)),
  ])
  const known = missing.filter((tracked) => core.tracked.get(tracked.id) === tracked)
  recordMissing(
    core,
    missingMain.filter((file) => stillGone.has(file) && core.files.stat(stateBeside(file))),
  )
  for (const tracked of known) {
    const file = core.mainFile(tracked)
    if (!stillGone.has(file)) continue
    recordMissing(core, [file])
    core.forget(tracked.id)
  }
  return core.unadopted.foreign.length + core.unadopted.grown.length > 0
}
