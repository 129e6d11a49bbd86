import { randomBytes } from "node:crypto"
import { StemmaError } from "../../protocol/index.ts"
import { currentHolder } from "../holder.ts"
import { adoptFile, settleSession } from "./adoption.ts"
import { BatchDraft } from "./batch-draft.ts"
import { readCatalog, type Unsettled } from "./catalog.ts"
import { checkpoint } from "./checkpoint.ts"
import type { Core } from "./core.ts"
import type { Files } from "./files.ts"
import { isObject } from "./lines.ts"
import { dropIdle } from "./loader.ts"
import { redo } from "./recover.ts"

const storeName = "store.json"
const storeFormat = 1

/** The id of the store in the directory. A new one is made under the lock, unless nothing may be written. */
export async function readStoreID(files: Files, options: { create: boolean }): Promise<string | undefined> {
  const text = files.read(storeName).toString("utf8")
  if (text !== "") return checkStore(files, text)
  if (!options.create) return undefined
  const id = randomBytes(8).toString("hex")
  await files.replace(storeName, Buffer.from(`${JSON.stringify({ format: storeFormat, id })}\n`), { sync: true })
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
  const { journal } = core
  core.state.sessions.clear()
  core.state.tombstones.clear()
  core.state.keys.clear()
  core.entries.clear()
  core.provisional = false
  const batches = journal.readAll()
  const boot = currentHolder().bootID
  if (options.locked && batches) {
    if (journal.tornBytes() > 0) journal.cutTorn()
    redo(core, journal.boot === boot ? batches.slice(-1) : batches)
  }
  const unsettled = await readCatalog(core, batches ?? [], options)
  if (options.locked && (!batches || journal.boot !== boot)) await checkpoint(core)
  if (!options.locked) await adoptInMemory(core, unsettled)
}

/** What the newest look at the files left to be adopted. */
export async function adoptFound(core: Core, unsettled: Unsettled, draft: BatchDraft): Promise<void> {
  for (const { files, listed } of unsettled.foreign) {
    try {
      await adoptFile(core, files, { draft, listed })
    } catch (error) {
      const entry = core.entries.get(files.id) ?? core.addEntry(files)
      entry.problem = error as StemmaError
      core.warn((error as Error).message)
    }
  }
  for (const entry of unsettled.grown) {
    try {
      await settleSession(core, entry, { draft, now: false })
    } catch (error) {
      entry.problem = error as StemmaError
      core.warn((error as Error).message)
    }
  }
}

/** Without the right to write, foreign lines are taken in for this process alone. */
async function adoptInMemory(core: Core, unsettled: Unsettled): Promise<void> {
  const { version } = core.state
  await adoptFound(core, unsettled, new BatchDraft(core))
  if (core.state.version > version) core.provisional = true
  dropIdle(core)
}
