import { describe, expect, test } from "vitest"
import {
  type Message,
  type Part,
  type PermissionRequest,
  type Row,
  StemmaEvent,
} from "../../protocol/index.ts"
import { assistant, part, session, sessionID, text, user } from "../samples.ts"
import { eventsOf } from "./events.ts"
import { reduceRow } from "./reduce.ts"
import { emptyView } from "./view.ts"

/** A subscriber that collects the events of each row and then applies the row to its view. */
function listener() {
  const view = emptyView()
  return (row: Row): StemmaEvent[] => {
    const events = eventsOf(row, view)
    reduceRow(view, row)
    for (const event of events) expect(StemmaEvent.safeParse(event).success).toBe(true)
    return events
  }
}

const types = (events: StemmaEvent[]) => events.map((event) => event.type)

function messageRow(version: number, message: Message, fields: object = {}): Row {
  return { type: "message", version, sessionID, position: 0, sealed: false, parts: 0, message, ...fields }
}

function partRow(version: number, value: Part, index = 0): Row {
  return { type: "part", version, sessionID, position: 0, index, part: { ...value, messageID: "msg_a" } }
}

describe("events of a session", () => {
  const row = (version: number, fields = {}): Row => ({
    type: "session",
    version,
    sessionID,
    session: session({}, fields),
  })

  test("report that it was created, updated and deleted", () => {
    const hear = listener()
    expect(types(hear(row(1)))).toEqual(["session.created", "session.updated"])
    expect(types(hear(row(1)))).toEqual([])
    expect(types(hear(row(2)))).toEqual(["session.updated"])
    const removed: Row = {
      type: "removed",
      version: 3,
      sessionID,
      parentID: "ses_up",
      directory: "/home/user/project",
    }
    expect(hear(removed)).toEqual([
      {
        type: "session.deleted",
        properties: { info: { id: sessionID, parentID: "ses_up", directory: "/home/user/project" } },
      },
    ])
    expect(hear(removed)).toEqual([])
  })

  test("report its diff when the diff changes", () => {
    const hear = listener()
    const diff = { file: "a.ts", before: "", after: "x", additions: 1, deletions: 0 }
    const summary = { additions: 1, deletions: 0, files: 1, diffs: [diff] }
    expect(types(hear(row(1, { summary })))).toContain("session.diff")
    expect(types(hear(row(2, { summary: structuredClone(summary), title: "new" })))).toEqual([
      "session.updated",
    ])
    expect(types(hear(row(3, { summary: { ...summary, diffs: [] } })))).toEqual([
      "session.updated",
      "session.diff",
    ])
  })
})

describe("events of a message", () => {
  test("report its fields, parts and pieces", () => {
    const hear = listener()
    expect(types(hear(messageRow(1, assistant("msg_a"), { parts: 1 })))).toEqual(["message.updated"])
    expect(types(hear(partRow(1, text("prt_a", ""))))).toEqual(["message.part.updated"])
    const piece = {
      sessionID,
      position: 0,
      index: 0,
      messageID: "msg_a",
      partID: "prt_a",
      field: "text" as const,
    }
    const row: Row = { type: "piece", version: 2, ...piece, offset: 0, text: "hi" }
    expect(hear(row)).toEqual([
      {
        type: "message.part.delta",
        properties: { sessionID, messageID: "msg_a", partID: "prt_a", field: "text", offset: 0, delta: "hi" },
      },
    ])
    expect(hear(row)).toEqual([])
  })

  test("report which parts were removed", () => {
    const hear = listener()
    hear(messageRow(1, assistant("msg_a"), { parts: 2 }))
    hear(partRow(1, text("prt_a", "a"), 0))
    hear(partRow(1, text("prt_b", "b"), 1))
    expect(hear(messageRow(2, assistant("msg_a"), { parts: 1 }))).toMatchObject([
      { type: "message.updated" },
      { type: "message.part.removed", properties: { messageID: "msg_a", partID: "prt_b" } },
    ])
    expect(hear(partRow(3, text("prt_c", "c"), 0))).toMatchObject([
      { type: "message.part.removed", properties: { partID: "prt_a" } },
      { type: "message.part.updated", properties: { part: { id: "prt_c" } } },
    ])
  })

  test("report the messages that a revert removed", () => {
    const hear = listener()
    for (const [position, id] of ["msg_a", "msg_b", "msg_c"].entries())
      hear(messageRow(position + 1, user(id), { position }))
    expect(hear({ type: "history", version: 9, sessionID, epoch: 1, keep: 1 })).toEqual([
      { type: "message.removed", properties: { sessionID, messageID: "msg_b" } },
      { type: "message.removed", properties: { sessionID, messageID: "msg_c" } },
    ])
  })

  test("report that another message replaced it", () => {
    const hear = listener()
    hear(messageRow(1, user("msg_a")))
    expect(types(hear(messageRow(2, user("msg_b"))))).toEqual(["message.removed", "message.updated"])
  })

  test("report its failure once", () => {
    const hear = listener()
    const error = { name: "UnknownError", data: { message: "no" } } as const
    hear(messageRow(1, assistant("msg_a")))
    expect(types(hear(messageRow(2, { ...assistant("msg_a"), error })))).toEqual([
      "message.updated",
      "session.error",
    ])
    expect(types(hear(messageRow(3, { ...assistant("msg_a"), error }, { sealed: true })))).toEqual([
      "message.updated",
    ])
  })

  test("report a user message's summary, which is a note", () => {
    const hear = listener()
    const note = (version: number, key: string, value: unknown): Row => {
      return { type: "note", version, sessionID, position: 0, messageID: "msg_a", key, value }
    }
    hear(messageRow(1, user("msg_a"), { sealed: true }))
    expect(hear(note(2, "summary", { title: "short", diffs: [] }))).toMatchObject([
      { type: "message.updated", properties: { info: { id: "msg_a", summary: { title: "short" } } } },
    ])
    expect(hear(note(3, "other", "x"))).toEqual([])
    expect(hear(note(4, "summary", 5))).toEqual([])
  })
})

describe("a compaction", () => {
  const summary = part("compaction", "prt_a", { auto: true, summary: "s" })
  const sealed = messageRow(5, assistant("msg_a"), { sealed: true, parts: 1 })

  test("is reported when its message is sealed", () => {
    const hear = listener()
    hear(messageRow(1, assistant("msg_a"), { parts: 1 }))
    expect(types(hear(partRow(2, summary)))).toEqual(["message.part.updated"])
    expect(types(hear(sealed))).toEqual(["message.updated", "session.compacted"])
  })

  test("is reported once if all of it comes with one commit", () => {
    const hear = listener()
    expect(types(hear(sealed))).toEqual(["message.updated"])
    expect(types(hear(partRow(5, summary)))).toEqual(["message.part.updated", "session.compacted"])
  })
})

describe("events beside the history", () => {
  const request: PermissionRequest = {
    id: "per_one",
    sessionID,
    permission: "bash",
    patterns: ["ls"],
    always: [],
    metadata: {},
    time: { created: 5 },
  }

  test("report questions and answers", () => {
    const hear = listener()
    expect(types(hear({ type: "permission", version: 1, sessionID, request }))).toEqual(["permission.asked"])
    const answered: Row = {
      type: "permission",
      version: 2,
      sessionID,
      request: { ...request, reply: "once" },
    }
    expect(hear(answered)).toEqual([
      { type: "permission.replied", properties: { sessionID, permissionID: "per_one", reply: "once" } },
    ])
    expect(hear({ ...answered, version: 3 } as Row)).toEqual([])
  })

  test("report todos, and nothing about the inbox", () => {
    const hear = listener()
    expect(types(hear({ type: "todos", version: 1, sessionID, todos: [] }))).toEqual(["todo.updated"])
    expect(hear({ type: "inbox", version: 2, sessionID, items: [] })).toEqual([])
  })
})
