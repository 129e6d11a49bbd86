import { expect, test } from "vitest"
import { withPathLock } from "./path-lock.ts"

test("tasks on one path run one after another in order, also after a failure", async () => {
  const seen: string[] = []
  const work = (name: string, fails = false) =>
    withPathLock("/a", async () => {
      seen.push(`${name} begins`)
      await new Promise((resolve) => setImmediate(resolve))
      seen.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    })
  const results = await Promise.allSettled([work("one"), work("two", true), work("three")])
  expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"])
  expect(seen).toEqual(["one begins", "one ends", "two begins", "two ends", "three begins", "three ends"])
})

test("tasks on different paths do not wait for one another", async () => {
  const gate = Promise.withResolvers<void>()
  const first = withPathLock("/a", () => gate.promise)
  await withPathLock("/b", async () => gate.resolve())
  await first
})
