import { expect, test } from "vitest"
import { SharedWork } from "./shared-work.ts"

test("all callers that wait get the result of one task", async () => {
  let begun = 0
  const work = new SharedWork(async () => ++begun)
  expect(await Promise.all([work.join(undefined), work.join(new AbortController().signal)])).toEqual([1, 1])
})

test("a caller that aborts does not affect the others, and the last one aborts the task", async () => {
  const ends: unknown[] = []
  const work = new SharedWork(
    (signal) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => {
          ends.push(signal.reason)
          reject(signal.reason)
        })
      }),
  )
  const [first, second] = [new AbortController(), new AbortController()]
  const waiting = [work.join(first.signal), work.join(second.signal)].map((one) =>
    one.catch((error: unknown) => error),
  )
  first.abort("first")
  expect(await waiting[0]).toBe("first")
  expect([ends, work.isAborted]).toEqual([[], false])
  second.abort("second")
  expect(await waiting[1]).toBe("second")
  expect([ends, work.isAborted]).toEqual([["second"], true])
})
