import { describe, expect, test } from "vitest"
import { MessageBody, PartBody } from "../../protocol/index.ts"
import { assistant, everyPart, user } from "../samples.ts"
import { redactMessage, redactPart } from "./redact.ts"

describe("a redacted part", () => {
  test.each(everyPart.map((part) => [part.id, part] as const))(
    "%s contains nothing of its content",
    (_, part) => {
      const redacted = redactPart(part)
      expect(JSON.stringify(redacted)).not.toContain("secret")
      expect(redacted).toMatchObject({
        id: part.id,
        type: part.type,
        sessionID: part.sessionID,
        messageID: part.messageID,
      })
      expect(PartBody.parse(redacted)).toEqual(PartBody.parse(PartBody.parse(redacted)))
      expect(redactPart(redacted)).toEqual(redacted)
    },
  )

  test("keeps times, names and counts", () => {
    const byID = new Map(everyPart.map((part) => [part.id, redactPart(part)]))
    expect(byID.get("prt_text")).toMatchObject({
      text: "[redacted]",
      synthetic: true,
      time: { start: 1, end: 2 },
    })
    expect(byID.get("prt_completed")).toMatchObject({
      callID: "call_prt_completed",
      tool: "read",
      state: {
        status: "completed",
        input: {},
        output: "[redacted]",
        title: "",
        metadata: {},
        time: { start: 1, end: 2 },
      },
    })
    expect(byID.get("prt_failed")).toMatchObject({
      state: { status: "error", input: {}, error: "[redacted]" },
    })
    expect(byID.get("prt_file")).toMatchObject({ mime: "text/plain", url: "redacted:" })
    expect(byID.get("prt_agent")).toMatchObject({ name: "explore" })
    expect(byID.get("prt_compaction")).toMatchObject({
      summary: "[redacted]",
      ledger: "[redacted]",
      tokensBefore: 5,
    })
    expect(byID.get("prt_compaction")).not.toHaveProperty("facts")
    expect(byID.get("prt_retry")).toMatchObject({
      attempt: 1,
      error: { name: "UnknownError", data: { message: "[redacted]" } },
    })
    expect(byID.get("prt_start")).toMatchObject({ prune: { time: 1, parts: ["prt_text"] } })
    expect(byID.get("prt_patch")).toMatchObject({ hash: "abc", files: [] })
  })

  test("without a summary gets none", () => {
    expect(redactPart({ id: "prt_a", type: "compaction", auto: false })).toEqual({
      id: "prt_a",
      type: "compaction",
      auto: false,
    })
  })
})

describe("a redacted message", () => {
  test("of a user loses its system text and summary", () => {
    const message = { ...user("msg_a"), system: "secret", summary: { title: "secret", diffs: [] } }
    const redacted = redactMessage(message)
    expect(redacted).toEqual(user("msg_a"))
    expect(redactMessage(redacted)).toEqual(redacted)
    expect(MessageBody.safeParse(redacted).success).toBe(true)
  })

  test("of an assistant loses the text of its error", () => {
    const message = {
      ...assistant("msg_a"),
      error: { name: "MessageAbortedError", data: { message: "secret" } } as const,
    }
    const redacted = redactMessage(message)
    expect(redacted.error).toEqual({ name: "UnknownError", data: { message: "[redacted]" } })
    expect(redactMessage(redacted)).toEqual(redacted)
    expect(MessageBody.safeParse(redacted).success).toBe(true)
    expect(redactMessage(assistant("msg_b"))).toEqual(assistant("msg_b"))
  })
})
