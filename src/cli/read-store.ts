import { join } from "node:path"
import { dataDirectory } from "../config/paths.ts"
import { StemmaError } from "../protocol/index.ts"
import type { Store } from "../stores/store.ts"
import type { Program } from "./program.ts"

/**
 * Lends the user's store, opened for reading; undefined if there is none yet. A search is the exception: it first indexes what
 * waits for it.
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
    // Of an earlier version: it must be brought up once to be read at all. One of a newer version is refused again.
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
