import { describe, expect, test } from "vitest"
import { everyPart, part, tool } from "../../../session/samples.ts"
import { type PartOptions, toWirePart } from "./to-wire-part.ts"
import { WirePart } from "./wire-message.ts"

const hash = "a".repeat(64)
const options: PartOptions = { url: ({ url }) => url.replace("blob:", "/blobs/") }

describe("toWirePart", () => {
  test("gives every kind of part the shape that the client knows, with nothing beside it", () => {
    for (const one of everyPart) {
      const told = toWirePart(one, options)
      expect(WirePart.parse(told), one.id).toEqual(told)
      expect(told).toMatchObject({ id: one.id, sessionID: one.sessionID, messageID: one.messageID })
    }
  })

  test("gives files an address that can be opened, and attachments a place of their own", () => {
    const url = `blob:${hash}`
    expect(toWirePart(part("file", "prt_1", { mime: "image/png", url }), options)).toMatchObject({
      url: `/blobs/${hash}`,
    })
    const state = {
      status: "completed" as const,
      input: {},
      output: "",
      title: "",
      metadata: {},
      time: { start: 1, end: 2 },
      attachments: [{ type: "file" as const, mime: "image/png", url }],
    }
    expect(toWirePart(tool("prt_2", state), options)).toMatchObject({
      state: { attachments: [{ id: "prt_2_0", sessionID: "ses_one", url: `/blobs/${hash}` }] },
    })
  })

  test("marks output that was hidden from the model", () => {
    const call = everyPart.find(({ id }) => id === "prt_completed")!
    const told = toWirePart(call, { ...options, prunedAt: (id) => (id === call.id ? 77 : undefined) })
    expect(told).toMatchObject({ state: { time: { start: 1, end: 2, compacted: 77 } } })
    expect(toWirePart(call, options)).toMatchObject({ state: { time: { start: 1, end: 2 } } })
  })

  test("shows what a command has printed so far where the client looks for it", () => {
    const state = { status: "running" as const, input: {}, output: "so far", time: { start: 1 } }
    expect(toWirePart(tool("prt_1", state), options)).toMatchObject({
      state: { metadata: { output: "so far" } },
    })
  })

  test("shows a summary as text, and a compaction without one as such", () => {
    const fields = { auto: true, firstKeptEntryId: "msg_kept" }
    expect(toWirePart(part("compaction", "prt_1", { ...fields, summary: "All." }), options)).toMatchObject({
      type: "text",
      text: "All.",
      metadata: { compaction: { auto: true, tail_start_id: "msg_kept" } },
    })
    expect(toWirePart(part("compaction", "prt_1", fields), options)).toMatchObject({
      type: "compaction",
      tail_start_id: "msg_kept",
    })
  })

  test("tells a retry by an error of the kind that the client has for it", () => {
    const error = { name: "ContextOverflowError" as const, data: { message: "too long" } }
    const told = toWirePart(part("retry", "prt_1", { attempt: 1, error, time: { created: 1 } }), options)
    expect(told).toMatchObject({ error: { name: "APIError", data: { message: "too long" } } })
  })
})
