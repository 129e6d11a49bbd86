import { expect, test } from "vitest"
import { Slices } from "./slices.ts"

/** Uses the processor for so long, as the work of a prompt does. */
function workFor(ms: number): void {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}

/** Counts the ticks of the event loop until it is stopped. */
function countTicks(): { count: number; stop: () => void } {
  const ticks = { count: 0, stop: () => {} }
  let isStopped = false
  ticks.stop = () => {
    isStopped = true
  }
  const next = () => {
    ticks.count++
    if (!isStopped) setImmediate(next)
  }
  setImmediate(next)
  return ticks
}

test("a caller alone begins at once", () => {
  const slices = new Slices()
  expect(slices.turn()).toBeUndefined()
  let hasBegun = false
  slices.run(() => {
    hasBegun = true
  })
  expect(hasBegun).toBe(true)
})

test("callers with much work share the ticks of the event loop, and begin in the order of their calls", async () => {
  const slices = new Slices()
  const begun: { caller: number; tick: number }[] = []
  const ticks = countTicks()
  const callers = Array.from({ length: 40 }, async (_, caller) => {
    const turn = slices.turn()
    if (turn) await turn
    begun.push({ caller, tick: ticks.count })
    workFor(2)
    await Promise.resolve()
    workFor(1)
  })
  await Promise.all(callers)
  ticks.stop()
  expect(begun.map(({ caller }) => caller)).toEqual(callers.map((_, index) => index))
  const perTick = Map.groupBy(begun, ({ tick }) => tick)
  // A slice of 5 ms has room for the beginning of two callers that take 3 ms each. The first tick has a slice for those that
  // call, and one for those that wait.
  for (const [, group] of perTick) expect(group.length).toBeLessThanOrEqual(4)
  expect(perTick.size).toBeGreaterThanOrEqual(10)
})

test("while the owner holds them back, callers wait, and begin in order afterwards", async () => {
  let isHeld = true
  const slices = new Slices({ isHeld: () => isHeld })
  const begun: number[] = []
  for (let caller = 0; caller < 10; caller++) slices.run(() => begun.push(caller))
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
  expect(begun).toEqual([])
  isHeld = false
  slices.run(() => begun.push(10))
  while (begun.length < 11) await new Promise((resolve) => setImmediate(resolve))
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})
