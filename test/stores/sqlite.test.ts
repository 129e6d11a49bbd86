import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, test } from "vitest"
import { type ConformanceDriver, conformanceCases, fits } from "../../src/stores/conformance/index.ts"
import { openSqliteStore } from "../../src/stores/sqlite/index.ts"
import type { Store } from "../../src/stores/store.ts"

const root = mkdtempSync(join(tmpdir(), "stemma-sqlite-"))
const paths = new Map<Store, string>()
let directoryCount = 0

async function open(path: string, options?: Parameters<ConformanceDriver["open"]>[0]): Promise<Store> {
  const store = await openSqliteStore({ path, ...options })
  paths.set(store, path)
  return store
}

const driver: ConformanceDriver = {
  capabilities: { durable: true, multiProcess: true, sharesHistory: true, indexedSearch: true },
  open: (options) => open(join(root, `${directoryCount++}`, "stemma.db"), options),
  async reopen(store, options) {
    await store.close()
    return await open(paths.get(store)!, options)
  },
  second: (store, options) => open(paths.get(store)!, options),
}

afterAll(() => rmSync(root, { recursive: true, force: true }))

describe("the sqlite driver passes the conformance suite", () => {
  for (const entry of conformanceCases) {
    test.skipIf(!fits(entry, driver))(entry.name, () => entry.run(driver))
  }
})
