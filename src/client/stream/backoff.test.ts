import { expect, it } from "vitest"
import { Backoff, pause } from "./backoff.ts"

it("doubles the delay each time up to a maximum, with random variation", () => {
  const backoff = new Backoff({ firstMs: 250, maxMs: 10_000 })
  for (const wholeMs of [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]) {
    const ms = backoff.nextMs()
    expect(ms).toBeGreaterThanOrEqual(wholeMs / 2)
    expect(ms).toBeLessThanOrEqual(wholeMs)
  }
  for (let tries = 0; tries < 2000; tries++) expect(backoff.nextMs()).toBeLessThanOrEqual(10_000)
  const others = Array.from({ length: 20 }, () => backoff.nextMs())
  expect(new Set(others).size).toBeGreaterThan(10)
})

it("starts again with the first delay after a success", () => {
  const backoff = new Backoff({ firstMs: 250, maxMs: 10_000 })
  for (let tries = 0; tries < 5; tries++) backoff.nextMs()
  backoff.reset()
  expect(backoff.nextMs()).toBeLessThanOrEqual(250)
})

it("waits at least as long as the server asked for, up to five minutes", () => {
  const backoff = new Backoff({ firstMs: 250, maxMs: 10_000 })
  expect(backoff.nextMs(60_000)).toBe(60_000)
  expect(backoff.nextMs(Number.MAX_SAFE_INTEGER)).toBe(300_000)
})

it("a pause ends when its signal is aborted", async () => {
  const controller = new AbortController()
  const waiting = pause(60_000, controller.signal)
  controller.abort()
  await waiting
  await pause(60_000, controller.signal)
})
