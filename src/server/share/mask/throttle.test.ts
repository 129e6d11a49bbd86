import { expect, test } from "vitest"
import { Throttle } from "./throttle.ts"

function beBusy(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test("runs one task after the other, and pauses as long as the tasks took", async () => {
  const throttle = new Throttle()
  const order: number[] = []
  let running = 0
  const startMs = performance.now()
  const works = [0, 1, 2, 3, 4].map((number) =>
    throttle.run(async () => {
      expect(++running).toBe(1)
      beBusy(10)
      await Promise.resolve()
      running--
      order.push(number)
      return number
    }),
  )
  expect(await Promise.all(works)).toEqual([0, 1, 2, 3, 4])
  expect(order).toEqual([0, 1, 2, 3, 4])
  // Five tasks and the four pauses between them.
  expect(performance.now() - startMs).toBeGreaterThan(5 * 10 + 4 * 9)
})

test("the error of a task reaches only its own caller", async () => {
  const throttle = new Throttle()
  const failing = throttle.run(async () => {
    throw new Error("no")
  })
  const next = throttle.run(async () => "yes")
  await expect(failing).rejects.toThrow("no")
  expect(await next).toBe("yes")
})
