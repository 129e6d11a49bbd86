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
  /** The directory of the store. It is created if it does not exist. */
  directory: string
  /**
   * "normal" (the default): an acknowledged commit survives the end of the process. "full": a commit is synced to disk
   * before it is acknowledged, so it also survives a power failure.
   */
  durability?: "normal" | "full"
  /** Never writes. Lines that other programs wrote are adopted in memory only. Every method that writes is `denied`. */
  readOnly?: boolean
  clock?: Clock
  holder?: Holder
  /** Called with a sentence when the store found damage that it repaired or left alone. Must not throw. */
  onWarning?: (warning: string) => void
}

const openTimeoutMs = 10_000

/**
 * Opens a store of JSON lines files, which other programs can read and continue, and creates the directory if it does
 * not exist. Several processes may open the same directory.
 */
export async function openJsonlStore(options: JsonlStoreOptions): Promise<Store> {
  return openJsonlStoreOn(new Files(resolve(options.directory)), options)
}

/** Like `openJsonlStore`, on a file system that a test can make fail. */
export async function openJsonlStoreOn(
  files: Files,
  options: Omit<JsonlStoreOptions, "directory">,
): Promise<Store> {
  const readOnly = options.readOnly ?? false
  if (readOnly && !existsSync(files.root)) {
    throw new StemmaError(
      "not_found",
      `There is no directory ${files.root}. Open the store once without readOnly to create it.`,
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
