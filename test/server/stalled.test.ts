import { setTimeout as delay } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { describe, expect, test } from "vitest"
import type { Model, ModelEvent } from "../../src/models/model.ts"
import type { Session } from "../../src/protocol/index.ts"
import { until } from "../support/run-scene.ts"
import { httpScene } from "../support/server/http-scene.ts"
import { RowReader } from "../support/server/stalled-reader.ts"

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void

const deltas = 200_000
/** The text is long enough to fill the socket buffers long before its end. */
const deltaText = (index: number) => `this is the delta with the number ${index} `
const text = Array.from({ length: deltas }, (_, index) => deltaText(index)).join("")

/**
 * The answer's text (8 MB) is in memory three times while it grows: in the run, in the hub and in the reader. The
 * buffer of a stalled reader (10,000 frames) adds a few MB; an unbounded buffer would need about twice as much in all.
 */
const heldMBMax = 45

/** A model that streams the text faster than any real model. */
function talker(onPause: (said: number) => void): Model {
  async function* stream(): AsyncGenerator<ModelEvent> {
    yield { type: "text-start", id: "text" }
    for (let said = 0; said < deltas; said++) {
      if (said % 200 === 0) await delay(1)
      if (said % 20_000 === 0) onPause(said)
      yield { type: "text-delta", id: "text", text: deltaText(said) }
    }
    yield { type: "text-end", id: "text" }
    yield { type: "finish", reason: "stop" }
  }
  return { ref: { providerID: "scripted", modelID: "m" }, limit: { context: 0, output: 0 }, stream }
}

function usedMB(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1e6
}

async function talkingScene(options: { stallMs: number; onPause?: (said: number) => void }) {
  const { stallMs, onPause = () => {} } = options
  const scene = await httpScene({ models: { scripted: () => talker(onPause) }, server: { stallMs } })
  const { id } = await scene.json<Session>("/sessions", { json: {} })
  return Object.assign(scene, { id })
}

describe("a reader that stops reading", () => {
  test("uses bounded memory, delays no other reader, and gets a cursor to continue from when it reads again", async () => {
    const usedMBs: number[] = []
    await using scene = await talkingScene({ stallMs: 120_000, onPause: () => usedMBs.push(usedMB()) })
    using stalled = new RowReader(scene, { sessionID: scene.id })
    await stalled.open()
    await until("it is synced", () => stalled.isSynced)
    stalled.stall()
    const seen = stalled.frames
    using reader = new RowReader(scene, { sessionID: scene.id, comesBack: true })
    await reader.open()
    await until("it is synced", () => reader.isSynced)

    const reply = await scene.json<{ text: string }>(`/sessions/${scene.id}/ask`, { json: { text: "go" } })
    expect(reply.text === text).toBe(true)
    await until("the other reader has all of it", () => reader.text.length === text.length)
    expect(reader.text === text).toBe(true)
    expect(stalled.frames).toBe(seen)
    expect(Math.max(...usedMBs) - usedMBs[0]!).toBeLessThan(heldMBMax)

    stalled.readOn()
    // The connection breaks instead of ending, so that a client that ignores the frames reconnects too.
    expect(await stalled.ended).toBe(false)
    expect(stalled.text.length).toBeLessThan(text.length)
    expect(stalled.laggedAt).toBeTypeOf("string")
    await stalled.open(stalled.laggedAt)
    await until("it is synced", () => stalled.isSynced)
    expect(stalled.text === text).toBe(true)
  })

  test("is disconnected after a while, and continues from the last id that it received", async () => {
    await using scene = await talkingScene({ stallMs: 300 })
    using stalled = new RowReader(scene, { sessionID: scene.id })
    await stalled.open()
    await until("it is synced", () => stalled.isSynced)
    stalled.stall()
    await scene.json(`/sessions/${scene.id}/ask`, { json: { text: "go" } })
    const subscribers = async () =>
      /^stemma_event_subscribers (\d+)$/m.exec(await (await scene.call("/metrics")).text())?.[1]
    await until("the server has let it go", async () => (await subscribers()) === "0")
    stalled.readOn()
    expect(await stalled.ended).toBe(false)
    expect(stalled.text.length).toBeLessThan(text.length)
    await stalled.open(stalled.lastID)
    await until("it is synced", () => stalled.isSynced)
    expect(stalled.text === text).toBe(true)
  })
})
