import { openSqliteStore } from "../../src/stores/sqlite/index.ts"
import type { Store } from "../../src/stores/store.ts"
import { sleep } from "../measure.ts"

export function openStore(path: string): Promise<Store> {
  return openSqliteStore({ path })
}

/** Waits until the store has indexed and merged all sealed text. */
export async function settle(store: Store): Promise<void> {
  await sleep(300)
  // The worker answers in order, so its earlier work is done then.
  await store.search({ text: "settle", limit: 1 })
}
