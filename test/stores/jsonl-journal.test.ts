import { rmSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { StemmaError } from "../../src/protocol/index.ts"
import { openJsonlStore, openJsonlStoreOn } from "../../src/stores/jsonl/index.ts"
import { canonicalJson } from "../../src/stores/prepare.ts"
import type { Store } from "../../src/stores/store.ts"
import { startChild } from "../support/child-process.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"
import { FaultyFiles } from "./jsonl-faults.ts"
import { prepare, type Scenario, scenarios, view } from "./jsonl-journal-scenarios.ts"

const crash = new StemmaError("internal", "The process died here.")

/** Runs a change up to the given file call. After that call nothing of this store reaches the disk. */
async function dieAt(
  directory: string,
  scenario: Scenario,
  options: { call: number; half: boolean },
): Promise<{ answered: boolean; reached: boolean }> {
  const files = new FaultyFiles(directory)
  const store = await openJsonlStoreOn(files, { durability: "full" })
  const fence = await scenario.claim(store)
  let calls = 0
  files.fault = () => {
    calls++
    if (calls < options.call) return "pass"
    return calls === options.call && options.half ? "half" : crash
  }
  try {
    await scenario.change(store, fence)
    return { answered: true, reached: calls >= options.call }
  } catch {
    return { answered: false, reached: true }
  } finally {
    files.fault = () => crash
    await store.close()
    // A killed process leaves its lock, and other processes break the lock of a dead process. This process lives on, so
    // the lock is removed here.
    rmSync(join(directory, "lock"), { force: true })
  }
}

describe.each(scenarios)("a change whose process dies while $name", (scenario) => {
  it.each([{ half: false }, { half: true }])(
    "is all there afterwards, or not at all (half a write: $half)",
    async ({ half }) => {
      const outcomes: string[] = []
      for (let call = 1; ; call++) {
        await using directory = await temporaryDirectory()
        const { before, after } = await prepare(directory.path, scenario)
        const { answered, reached } = await dieAt(directory.path, scenario, { call, half })
        await using store = await openJsonlStore({ directory: directory.path })
        const found = await view(store)
        expect((await store.check()).problems).toEqual([])
        const outcome = isSame(found, after) ? "all" : isSame(found, before) ? "nothing" : "something else"
        expect(`call ${call}: ${outcome}`).toMatch(answered ? /: all$/ : /: (all|nothing)$/)
        outcomes.push(outcome)
        await scenario.again(store)
        if (!reached) break
      }
      expect(outcomes[0]).toBe("nothing")
      expect(outcomes.at(-1)).toBe("all")
      // After the first complete outcome, no later interruption may lose the change.
      expect(outcomes.lastIndexOf("nothing")).toBeLessThan(outcomes.indexOf("all"))
    },
  )
})

function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

describe("a process that is killed", () => {
  it("at any file call of a commit leaves the whole commit or nothing", {
    timeout: 120_000,
  }, async () => {
    const scenario = scenarios[0]!
    const outcomes: string[] = []
    for (let call = 1; ; call++) {
      await using directory = await temporaryDirectory()
      const stored = join(directory.path, "store")
      const { before, after } = await prepare(stored, scenario)
      await using child = startChild("../../stores/jsonl-journal-child.ts", {
        output: join(directory.path, "output"),
        args: [stored, String(call)],
      })
      await child.ended
      expect(child.errors()).toBe("")
      await using store: Store = await openJsonlStore({ directory: stored })
      const found = await view(store)
      const outcome = isSame(found, after) ? "all" : isSame(found, before) ? "nothing" : "something else"
      expect(`call ${call}: ${outcome}`).toMatch(/: (all|nothing)$/)
      expect((await store.check()).problems).toEqual([])
      outcomes.push(outcome)
      await scenario.again(store)
      if (child.lines<{ answered: boolean }>().length > 0) break
    }
    expect(outcomes[0]).toBe("nothing")
    expect(outcomes.at(-1)).toBe("all")
    expect(outcomes.length).toBeGreaterThan(4)
  })
})
