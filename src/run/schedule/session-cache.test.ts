import { expect, test } from "vitest"
import type { HistoryItem } from "../../protocol/index.ts"
import { assistant, text, user } from "../../session/samples.ts"
import { SessionCache } from "./session-cache.ts"

const bytesMax = 100_000

function item(position: number, length: number): HistoryItem {
  const message = position % 2 === 0 ? user(`msg_${position}`) : assistant(`msg_${position}`)
  return {
    position,
    version: position,
    sealed: true,
    message,
    parts: [text(`prt_${position}`, "x".repeat(length))],
  }
}

/** A run of a session that adds this many messages. */
function runs(cache: SessionCache, id: string, { messages = 2, length = 1000 } = {}): void {
  const { memo } = cache.take(id)
  for (let i = 0; i < messages; i++) memo.add(item(memo.count, length))
  cache.rest(id)
}

/** The number of cached messages. Takes the session out of use again. */
function kept(cache: SessionCache, id: string): number {
  const { memo } = cache.take(id)
  cache.rest(id)
  return memo.count
}

test("the resting sessions never use more than the limit, and the least recently used are dropped", () => {
  const cache = new SessionCache({ bytesMax })
  for (let i = 0; i < 200; i++) {
    runs(cache, `ses_${i}`)
    if (i === 150) expect(kept(cache, "ses_140")).toBe(2)
    expect(cache.bytes).toBeLessThanOrEqual(bytesMax)
  }
  expect(cache.bytes).toBeGreaterThan(bytesMax / 2)
  expect(kept(cache, "ses_199")).toBe(2)
  expect(kept(cache, "ses_0")).toBe(0)
})

test("a short message counts as much as its objects need, and a character that needs two bytes counts twice", () => {
  const cache = new SessionCache({ bytesMax: 1_000_000 })
  runs(cache, "ses_short", { messages: 50, length: 1 })
  expect(cache.bytes).toBeGreaterThan(50 * 700)
  expect(cache.bytes).toBeLessThan(50 * 2000)
  const ascii = cache.bytes
  const { memo } = cache.take("ses_wide")
  for (let i = 0; i < 50; i++) memo.add({ ...item(i, 0), parts: [text(`prt_${i}`, "字".repeat(1000))] })
  cache.rest("ses_wide")
  expect(cache.bytes).toBeGreaterThan(ascii + 50 * 2000)
})

test("a session that grows is counted again, and a session that shrinks too", () => {
  const cache = new SessionCache({ bytesMax })
  runs(cache, "ses_a")
  const before = cache.bytes
  runs(cache, "ses_a", { messages: 10 })
  expect(cache.bytes).toBeGreaterThan(before * 4)
  cache.delete("ses_a")
  expect(cache.bytes).toBe(0)
})

test("the session that came to rest last is kept even if it is larger than the limit", () => {
  const cache = new SessionCache({ bytesMax })
  runs(cache, "ses_small")
  runs(cache, "ses_large", { length: bytesMax })
  expect(kept(cache, "ses_large")).toBe(2)
  expect(kept(cache, "ses_small")).toBe(0)
  expect(kept(cache, "ses_large"), "a resting session gives way to the newest").toBe(0)
})

test("a session in use is not dropped, and is counted when it rests", () => {
  const cache = new SessionCache({ bytesMax })
  const { memo } = cache.take("ses_busy")
  for (let i = 0; i < 20; i++) memo.add(item(i, 1000))
  for (let i = 0; i < 200; i++) runs(cache, `ses_${i}`)
  expect(cache.take("ses_busy").memo).toBe(memo)
  cache.rest("ses_busy")
  expect(cache.bytes).toBeLessThanOrEqual(bytesMax)
})

test("the files that a session has read stay known after its history was dropped", () => {
  const cache = new SessionCache({ bytesMax })
  const state = { mtimeMs: 1, size: 2 }
  cache.take("ses_reader").reads.note("/a.ts", state)
  runs(cache, "ses_reader")
  for (let i = 0; i < 200; i++) runs(cache, `ses_${i}`)
  const { memo, reads } = cache.take("ses_reader")
  expect(memo.count).toBe(0)
  expect(reads.known("/a.ts")).toEqual(state)
})
