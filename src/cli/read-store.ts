import { join } from "node:path"
import { dataDirectory } from "../config/paths.ts"
import { StemmaError } from "../protocol/index.ts"
import type { Store } from "../stores/store.ts"
import type { Program } from "./program.ts"

/**
 * Opens the user's store for reading, runs `read`, and closes the store. Undefined if there is no store yet. A search
 * opens the store for writing, because it first indexes messages that are not indexed yet.
 */
export async function readStore<T>(
  { terminal, openStore }: Program,
  read: (store: Store) => Promise<T>,
  options: { isSearch?: boolean } = {},
): Promise<T | undefined> {
  const path = join(dataDirectory(terminal.env), "stemma.db")
  let store: Store
  try {
    store = await openStore({ path, readOnly: true })
  } catch (error) {
    if (StemmaError.is(error, "not_found")) return undefined
    // A store of an earlier version must be migrated once before it can be read. The second open refuses a newer
    // version again.
    if (!StemmaError.is(error, "unsupported")) throw error
    store = await openStore({ path })
  }
  if (options.isSearch) {
    await store.close()
    store = await openStore({ path })
  }
  try {
    return await read(store)
  } finally {
    await store.close()
  }
}
