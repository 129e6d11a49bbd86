import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { type OpenStoreOptions, openStore, StemmaError } from "../src/index.ts"
import { temporaryDirectory } from "./support/temporary-directory.ts"

describe("openStore", () => {
  test.each([
    ["sqlite", (path: string): OpenStoreOptions => ({ path: join(path, "stemma.db") })],
    ["sqlite", (path: string): OpenStoreOptions => ({ driver: "sqlite", path: join(path, "stemma.db") })],
    ["jsonl", (path: string): OpenStoreOptions => ({ driver: "jsonl", directory: path })],
    ["memory", (): OpenStoreOptions => ({ driver: "memory" })],
  ])("opens a %s store", async (name, options) => {
    await using directory = await temporaryDirectory()
    await using store = await openStore(options(directory.path))
    expect(store.name).toBe(name)
    expect(await store.sessions()).toEqual({ items: [] })
  })

  test("refuses a driver that is not there, with a sentence", async () => {
    const failed = await openStore({ driver: "redis" } as never).catch((error: unknown) => error)
    expect(StemmaError.is(failed, "invalid")).toBe(true)
    expect(String(failed)).toContain("There is no driver redis. Use sqlite, jsonl or memory.")
  })
})
