import { expect, test } from "vitest"
import type { StemmaEvent } from "../../../protocol/index.ts"
import { session, text } from "../../../session/samples.ts"
import { toWireEvent, toWireText } from "./to-wire-event.ts"

const options = { projectID: "prj_1", url: ({ url }: { url: string }) => url, nowMs: 5 }
const delta = { sessionID: "ses_one", messageID: "msg_1", partID: "prt_1", offset: 3, delta: "x" }

test("events contain their session id, and a changed part its time", () => {
  const info = session()
  expect(toWireEvent({ type: "session.updated", properties: { info } }, options)).toMatchObject({
    properties: { sessionID: "ses_one", info: { slug: "one" } },
  })
  const part = text("prt_1", "Hi")
  expect(toWireEvent({ type: "message.part.updated", properties: { part } }, options)).toMatchObject({
    properties: { sessionID: "ses_one", part: { text: "Hi" }, time: 5 },
  })
})

test("a question has its fields at the top level, and its reply has a requestID", () => {
  const request = {
    id: "per_1",
    sessionID: "ses_one",
    permission: "edit",
    patterns: ["a"],
    always: [],
    metadata: {},
    time: { created: 1 },
  }
  expect(toWireEvent({ type: "permission.asked", properties: { request } }, options)?.properties).toEqual({
    id: "per_1",
    sessionID: "ses_one",
    permission: "edit",
    patterns: ["a"],
    always: [],
    metadata: {},
  })
  const replied = { sessionID: "ses_one", permissionID: "per_1", reply: "once" as const }
  expect(toWireEvent({ type: "permission.replied", properties: replied }, options)?.properties).toEqual({
    sessionID: "ses_one",
    requestID: "per_1",
    reply: "once",
  })
})

test("growing text is sent as deltas, other growing fields are not", () => {
  const event = (field: "text" | "raw" | "output"): StemmaEvent => {
    return { type: "message.part.delta", properties: { ...delta, field } }
  }
  const { offset: _, ...rest } = delta
  expect(toWireEvent(event("text"), options)?.properties).toEqual({ ...rest, field: "text" })
  expect(toWireEvent(event("raw"), options)).toBeUndefined()
  expect(toWireEvent(event("output"), options)).toBeUndefined()
})

test("every frame has its own id, and `synced` and `lagged` have a cursor", () => {
  const frames = [
    { synced: true as const, cursor: "c1" },
    { lagged: true as const, cursor: "c2" },
    { event: { type: "session.idle" as const, properties: { sessionID: "ses_one" } } },
  ]
  const wire = frames.map((frame) => JSON.parse(toWireText(frame, options)!) as { id: string })
  expect(wire).toMatchObject([
    { type: "synced", properties: { cursor: "c1" } },
    { type: "lagged", properties: { cursor: "c2" } },
    { type: "session.idle", properties: { sessionID: "ses_one" } },
  ])
  expect(new Set(wire.map(({ id }) => id)).size).toBe(3)
})
