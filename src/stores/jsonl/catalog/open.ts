import { randomBytes } from "node:crypto"
import { StemmaError } from "../../../protocol/index.ts"
import { currentHolder } from "../../holder.ts"
import type { Core, Entry } from "../core.ts"
import type { FileStat, Files } from "../disk/files.ts"
import { readIndex } from "../disk/index-file.ts"
import { type FoundFiles, scanFiles } from "../disk/scan.ts"
import { adoptFile, settleSession } from "../foreign/adoption.ts"
import { beginsSession } from "../format/header.ts"
import { badLine, isObject, parseGoodLines } from "../format/lines.ts"
import { BatchDraft } from "../journal/batch-draft.ts"
import { checkpoint } from "../journal/checkpoint.ts"
import { noteLength, redo } from "../journal/recover.ts"
import { readCatalog } from "./catalog.ts"
import { asStemmaError } from "./loader.ts"
import { noteLost, stateBeside, stillLost } from "./missing-files.ts"

const storeName = "store.json"
const storeFormat = 1
/** The first line of a session is not longer than this. */
const headBytes = 1024 * 1024

/** The id of the store in the directory. A new one is made under the lock, unless nothing may be written. */
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
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (!isObject(value) || typeof value.id !== "string" || !/^[0-9a-z]{1,32}$/.test(value.id)) {
    throw new StemmaError(
      "internal",
      `${file} is damaged. Remove it: a new one is made, and clients start again without their cursors.`,
      { details: { file } },
    )
  }
  if (typeof value.format === "number" && value.format <= storeFormat) return value.id
  throw new StemmaError(
    "unsupported",
    `${file} says format ${String(value.format)}; this version knows up to ${storeFormat}. Use the newer version.`,
    { details: { file, format: value.format } },
  )
}

/** Reads everything again, after finishing what a dead process began if the lock is held. */
export async function reread(core: Core, options: { locked: boolean }): Promise<void> {
  const fresh = core.blank()
  const { journal } = fresh
  const batches = journal.readAll()
  const boot = currentHolder().bootID
  let shifted = new Set<string>()
  if (options.locked && batches) {
    if (journal.tornBytes() > 0) journal.cutTorn()
    shifted = await redo(fresh, journal.boot === boot ? batches.slice(-1) : batches)
  }
  fresh.unsettled = await readCatalog(fresh, batches ?? [], { ...options, shifted })
  for (const replicaPart of shifted.size > 0 ? fresh.entries.values() : []) {
    if (shifted.has(fresh.mainFile(replicaPart)) && !replicaPart.problem) noteLength(fresh, replicaPart)
  }
  if (options.locked && (!batches || journal.boot !== boot)) await checkpoint(fresh)
  if (core.readOnly) await adoptInMemory(fresh)
  core.become(fresh)
}

/** Takes in what the newest look at the files found of others. */
export async function adoptFound(core: Core, draft: BatchDraft): Promise<void> {
  const { foreign, grown } = core.unsettled
  core.unsettled = { foreign: [], grown: [] }
  for (const { files, listed } of foreign) {
    if (core.entries.has(files.id)) continue
    try {
      if (isStranger(core, files)) continue
      await adoptFile(core, files, { draft, listed })
    } catch (error) {
      setAside(core, core.entries.get(files.id) ?? core.addEntry(files), error)
    }
  }
  for (const replicaPart of grown) {
    if (core.entries.get(replicaPart.id) !== replicaPart) continue
    try {
      await settleSession(core, replicaPart, { draft, now: false })
    } catch (error) {
      // What is accounted for can be read; whoever asks for the session is told, until the file is mended.
      replicaPart.seen = 0
      core.warnOnce(core.mainFile(replicaPart), asStemmaError(error).message)
    }
  }
}

/** True for a file that only ends like a session's. One that is named like a session too is an error. */
function isStranger(core: Core, found: FoundFiles): boolean {
  const file = core.mainFile(found)
  const head = core.files.read(file, 0, headBytes)
  const end = head.indexOf("\n")
  const [first] = parseGoodLines(end < 0 ? head : head.subarray(0, end), { file })
  if (beginsSession(first?.value)) return false
  core.strangers.set(file, stampOf(found.main))
  if (found.name !== found.id || end < 0) return true
  throw badLine(file, 1, "is not the beginning of a session")
}

/** Tells whether a file has changed since it was looked at. */
function stampOf({ size, mtimeMs }: FileStat): string {
  return `${size}/${mtimeMs}`
}

function setAside(core: Core, replicaPart: Entry, error: unknown): void {
  replicaPart.problem = asStemmaError(error)
  core.warn(replicaPart.problem.message)
}

/** Without the right to write, foreign lines are taken in for this process alone. */
async function adoptInMemory(core: Core): Promise<void> {
  const { version } = core.state
  await adoptFound(core, new BatchDraft(core))
  if (core.state.version > version) core.provisional = true
}

/** Looks whether others put files here, or removed some; true if there is something to take in. */
export async function lookAround(core: Core): Promise<boolean> {
  const { found, lost } = await scanFiles(core, { tidy: false })
  const ids = new Set<string>()
  for (const files of found) {
    ids.add(files.id)
    const replicaPart = core.entries.get(files.id)
    if (!replicaPart || (replicaPart.problem && !core.state.sessions.has(replicaPart.id))) {
      if (core.strangers.get(core.mainFile(files)) === stampOf(files.main)) continue
      core.entries.delete(files.id)
      const { others } = readIndex(core, files.folder)
      core.unsettled.foreign.push({ files, listed: others.get(files.id) })
    } else if (
      files.main.size > replicaPart.main &&
      files.main.size !== replicaPart.seen &&
      !replicaPart.problem
    ) {
      replicaPart.seen = files.main.size
      core.unsettled.grown.push(replicaPart)
    }
  }
  const missing = [...core.entries.values()].filter(
    (replicaPart) => !ids.has(replicaPart.id) && !core.files.stat(core.mainFile(replicaPart)),
  )
  const gone = await stillLost(core, [...lost, ...missing.map((replicaPart) => core.mainFile(replicaPart))])
  const known = missing.filter((replicaPart) => core.entries.get(replicaPart.id) === replicaPart)
  noteLost(
    core,
    lost.filter((file) => gone.has(file) && core.files.stat(stateBeside(file))),
  )
  for (const replicaPart of known) {
    const file = core.mainFile(replicaPart)
    if (!gone.has(file)) continue
    noteLost(core, [file])
    core.drop(replicaPart.id)
  }
  return core.unsettled.foreign.length + core.unsettled.grown.length > 0
}
