import { describe, expect, test } from "vitest"
import type { Frame } from "../../stream/hub.ts"
import { joinDeltas } from "./join-deltas.ts"

function delta(offset: number, text: string, more: { partID?: string; cursor?: string } = {}): Frame {
  const { partID = "prt_1", cursor } = more
  const properties = {
    sessionID: "ses_1",
    messageID: "msg_1",
    partID,
    field: "text",
    offset,
    delta: text,
  } as const
  return { event: { type: "message.part.delta", properties }, ...(cursor !== undefined && { cursor }) }
}

describe("live text", () => {
  test("that is contiguous becomes one delta, and the given frames are not changed", () => {
    const frames = [delta(0, "one "), delta(4, "two "), delta(8, "three")]
    expect(joinDeltas(frames)).toEqual([delta(0, "one two three")])
    expect(frames).toEqual([delta(0, "one "), delta(4, "two "), delta(8, "three")])
  })

  test("of another part, or after a gap, begins a new delta", () => {
    const frames = [delta(0, "a"), delta(0, "b", { partID: "prt_2" }), delta(3, "d"), delta(4, "e")]
    expect(joinDeltas(frames)).toEqual([...frames.slice(0, 2), delta(3, "de")])
  })

  test("keeps its position among other frames, and its cursor", () => {
    const frames: Frame[] = [
      delta(0, "a"),
      { synced: true, cursor: "c1" },
      delta(1, "b"),
      delta(2, "c", { cursor: "c2" }),
    ]
    expect(joinDeltas(frames)).toEqual(frames)
  })

  test("becomes several frames if it is very long", () => {
    const long = "x".repeat(1000)
    const frames = Array.from({ length: 200 }, (_, index) => delta(index * 1000, long))
    const joined = joinDeltas(frames)
    expect(joined.length).toBeLessThan(5)
    const texts = joined.map((frame) => JSON.stringify(frame).length)
    expect(Math.max(...texts)).toBeLessThan(70_000)
  })
})
