import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { type Clock, StemmaError, systemClock } from "../../protocol/index.ts"
import { currentHolder } from "../holder.ts"
import type { Holder, Store } from "../store.ts"
import { readStoreID, reread } from "./catalog/open.ts"
import { Core } from "./core.ts"
import { Files } from "./disk/files.ts"
import { StoreLock } from "./disk/lock.ts"
import { JsonlStore } from "./store.ts"

export interface JsonlStoreOptions {
  /** Where the files are; made if it is not there. */
  directory: string
  /** "full" syncs every commit to disk before it answers; "normal" survives the end of the process. */
  durability?: "normal" | "full"
  readOnly?: boolean
  clock?: Clock
  holder?: Holder
  /** Called with a sentence when something was found damaged and put right, or left aside. Must not throw. */
  onWarning?: (warning: string) => void
}

const openTimeoutMs = 10_000

/** Opens, or begins, a store of lines of JSON that other programs read too. */
export async function openJsonlStore(options: JsonlStoreOptions): Promise<Store> {
  return openJsonlStoreOn(new Files(resolve(options.directory)), options)
}

/** The same on files that a test can make fail. */
export async function openJsonlStoreOn(
  files: Files,
  options: Omit<JsonlStoreOptions, "directory">,
): Promise<Store> {
  const readOnly = options.readOnly ?? false
  if (readOnly && !existsSync(files.root)) {
    throw new StemmaError(
      "not_found",
      `There is no directory ${files.root}. Open it for writing to begin one.`,
    )
  }
  const lock = new StoreLock(files.root)
  if (!readOnly) files.makeDirectory(".")
  const core = (storeID: string) =>
    new Core({
      files,
      storeID,
      clock: options.clock ?? systemClock,
      holder: options.holder ?? currentHolder(),
      durability: options.durability ?? "normal",
      readOnly,
      onWarning: options.onWarning ?? (() => undefined),
    })
  if (readOnly) {
    const opened = core((await readStoreID(files, { create: false })) ?? "0")
    await reread(opened, { locked: false })
    return new JsonlStore(opened, lock)
  }
  await lock.acquire({ timeoutMs: openTimeoutMs })
  let opened: Core
  try {
    lock.sweep()
    opened = core((await readStoreID(files, { create: true }))!)
    await reread(opened, { locked: true })
  } finally {
    lock.release()
  }
  return new JsonlStore(opened, lock).start()
}
