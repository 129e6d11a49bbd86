import { describe, it } from "vitest"
import { type ConformanceDriver, conformanceCases, fits } from "../../src/stores/conformance/index.ts"
import { createMemoryStore } from "../../src/stores/memory.ts"

const driver: ConformanceDriver = {
  capabilities: createMemoryStore().capabilities,
  open: async (options) => createMemoryStore(options),
}

describe("the memory store", () => {
  for (const promise of conformanceCases)
    it.skipIf(!fits(promise, driver))(promise.name, () => promise.run(driver))
})
