import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, it } from "vitest"
import { type ConformanceDriver, conformanceCases, fits } from "../../src/stores/conformance/index.ts"
import { openJsonlStore } from "../../src/stores/jsonl/index.ts"
import type { Store } from "../../src/stores/store.ts"

const root = mkdtempSync(join(tmpdir(), "stemma-jsonl-"))
const directories = new Map<Store, string>()

async function open(directory: string, options?: Parameters<ConformanceDriver["open"]>[0]): Promise<Store> {
  const store = await openJsonlStore({ directory, ...options })
  directories.set(store, directory)
  return store
}

const driver: ConformanceDriver = {
  // Forks are copies, because every session is a file of its own. Search reads all files.
  capabilities: { durable: true, multiProcess: true, sharesHistory: false, indexedSearch: false },
  open: (options) => open(join(root, `${directories.size}`), options),
  async reopen(store, options) {
    await store.close()
    return await open(directories.get(store)!, options)
  },
  second: (store, options) => open(directories.get(store)!, options),
}

afterAll(() => rmSync(root, { recursive: true, force: true }))

describe("the jsonl driver passes the conformance suite", () => {
  for (const promise of conformanceCases) {
    it.skipIf(!fits(promise, driver))(promise.name, () => promise.run(driver))
  }
})
