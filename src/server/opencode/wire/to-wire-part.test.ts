import { describe, expect, test } from "vitest"
import { createID } from "../../../protocol/index.ts"
import { everyPart, part, tool } from "../../../session/samples.ts"
import { type PartOptions, toWirePart } from "./to-wire-part.ts"
import { WirePart } from "./wire-message.ts"

const hash = "a".repeat(64)
const options: PartOptions = { url: ({ url }) => url.replace("blob:", "/blobs/") }

describe("toWirePart", () => {
  test("gives every kind of part exactly the shape of the OpenCode client", () => {
    for (const one of everyPart) {
      const wire = toWirePart(one, options)
      expect(WirePart.parse(wire), one.id).toEqual(wire)
      expect(wire).toMatchObject({ id: one.id, sessionID: one.sessionID, messageID: one.messageID })
    }
  })

  test("a call whose input is complete counts as running since its part was made", () => {
    const wire = (raw: string, id = createID("part", 1234567890123)) => {
      const one = toWirePart(tool(id, { status: "pending", input: {}, raw }), options)
      return one.type === "tool" ? one.state : undefined
    }
    expect(wire('{"command":"ls"} ')).toEqual({
      status: "running",
      input: { command: "ls" },
      time: { start: 1234567890123 },
    })
    expect(wire('{"command":"ls"}', "prt-7")).toMatchObject({ status: "running", time: { start: 0 } })
    const deep = `${'{"a":'.repeat(30_000)}1${"}".repeat(30_000)}`
    for (const raw of ["", '{"command":"l', '{"a":{}', "[1]", "}", deep]) {
      expect(wire(raw), raw.slice(0, 40)).toMatchObject({ status: "pending", input: {} })
    }
  })

  test("gives files a URL that can be opened, and attachments their own id", () => {
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

  test("a written file has empty diagnostics, so that its text is shown", () => {
    const state = {
      status: "completed" as const,
      input: { filePath: "a.txt", content: "a" },
      output: "",
      title: "",
      metadata: { exists: false },
      time: { start: 1, end: 2 },
    }
    const written = { ...tool("prt_3", state), tool: "write" }
    expect(toWirePart(written, options)).toMatchObject({
      state: { metadata: { exists: false, diagnostics: {} } },
    })
    expect(toWirePart(tool("prt_3", state), options)).toMatchObject({
      state: { metadata: { exists: false } },
    })
  })

  test("marks output that was hidden from the model", () => {
    const call = everyPart.find(({ id }) => id === "prt_completed")!
    const wire = toWirePart(call, { ...options, prunedAt: (id) => (id === call.id ? 77 : undefined) })
    expect(wire).toMatchObject({ state: { time: { start: 1, end: 2, compacted: 77 } } })
    expect(toWirePart(call, options)).toMatchObject({ state: { time: { start: 1, end: 2 } } })
  })

  test("sends the output of a running command in the metadata", () => {
    const state = { status: "running" as const, input: {}, output: "so far", time: { start: 1 } }
    expect(toWirePart(tool("prt_1", state), options)).toMatchObject({
      state: { metadata: { output: "so far" } },
    })
  })

  test("sends a summary as text, and a compaction without one as a compaction", () => {
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

  test("sends the error of a retry as an APIError", () => {
    const error = { name: "ContextOverflowError" as const, data: { message: "too long" } }
    const wire = toWirePart(part("retry", "prt_1", { attempt: 1, error, time: { created: 1 } }), options)
    expect(wire).toMatchObject({ error: { name: "APIError", data: { message: "too long" } } })
  })
})
