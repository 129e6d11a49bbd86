import { describe, expect, test } from "vitest"
import type { HistoryItem, Message, Part, PermissionRequest, Row } from "../../protocol/index.ts"
import { assistant, completed, history, running, session, sessionID, text, tool, user } from "../samples.ts"
import { reduceDelta, reducePage, reduceRow } from "./reduce.ts"
import {
  emptyView,
  missing,
  type SessionView,
  viewCount,
  viewItem,
  viewMessages,
  viewPermissions,
} from "./view.ts"

function sessionRow(version: number, count: number, epoch = 0): Row {
  return { type: "session", version, sessionID, session: session({ count, epoch }) }
}

function messageRow(version: number, position: number, message: Message, fields: object = {}): Row {
  return { type: "message", version, sessionID, position, sealed: false, parts: 0, message, ...fields }
}

function partRow(version: number, position: number, part: Part, index = 0): Row {
  return {
    type: "part",
    version,
    sessionID,
    position,
    index,
    part: { ...part, messageID: `msg_${position}` },
  }
}

function pieceRow(version: number, offset: number, value: string, fields: object = {}): Row {
  const place = { sessionID, position: 0, index: 0, messageID: "msg_0", partID: "prt_a" }
  return { type: "piece", version, ...place, field: "text", offset, text: value, ...fields }
}

function delta(offset: number, value: string) {
  return { messageID: "msg_0", partID: "prt_a", field: "text" as const, offset, delta: value }
}

function viewOf(...rows: Row[]): SessionView {
  const view = emptyView()
  for (const row of rows) reduceRow(view, row)
  return view
}

/** A view of one open message with one text part. */
function openView(value = ""): SessionView {
  return viewOf(
    sessionRow(1, 1),
    messageRow(1, 0, assistant("msg_0"), { parts: 1 }),
    partRow(1, 0, text("prt_a", value)),
  )
}

function shownText(view: SessionView): string | undefined {
  const part = viewItem(view, 0)?.parts[0]
  return part?.type === "text" ? part.text : undefined
}

describe("pieces", () => {
  test("are appended if they fit, and ignored if already included", () => {
    const view = openView("ab")
    expect(reduceRow(view, pieceRow(2, 2, "cd"))).toBe(true)
    expect(reduceRow(view, pieceRow(2, 2, "cd"))).toBe(false)
    expect(shownText(view)).toBe("abcd")
    expect(reduceRow(view, pieceRow(3, 3, "def"))).toBe(true)
    expect(shownText(view)).toBe("abcdef")
  })

  test("after a gap make the message missing until a page fills it, and are kept", () => {
    const view = openView("ab")
    reduceRow(view, pieceRow(4, 6, "gh"))
    expect(shownText(view)).toBe("ab")
    expect(missing(view)).toEqual([{ from: 0, to: 1 }])
    const [item] = history([assistant("msg_0"), text("prt_a", "abcdef")])
    reducePage(view, { items: [{ ...item!, sealed: false, version: 3 }], count: 1, epoch: 0 })
    expect(missing(view)).toEqual([])
    expect(shownText(view)).toBe("abcdefgh")
  })

  test("that arrive in the wrong order are put in the right order", () => {
    const view = openView()
    for (const row of [pieceRow(4, 4, "ef"), pieceRow(3, 2, "cd"), pieceRow(2, 0, "ab")]) reduceRow(view, row)
    expect(shownText(view)).toBe("abcdef")
    expect(missing(view)).toEqual([])
  })

  test("that are older than the part's row are ignored", () => {
    const view = openView("ab")
    reduceRow(view, pieceRow(2, 2, "cd"))
    reduceRow(view, partRow(3, 0, text("prt_a", "")))
    expect(reduceRow(view, pieceRow(2, 0, "ab"))).toBe(false)
    expect(shownText(view)).toBe("")
  })

  test("of an unknown part are kept until the part arrives", () => {
    const view = viewOf(sessionRow(1, 1), pieceRow(5, 2, "cd"))
    expect(viewMessages(view)).toEqual([])
    expect(missing(view)).toEqual([{ from: 0, to: 1 }])
    const [item] = history([assistant("msg_0"), text("prt_a", "ab")])
    reducePage(view, { items: [{ ...item!, sealed: false, version: 4 }], count: 1, epoch: 0 })
    expect(shownText(view)).toBe("abcd")
  })

  test("grow the input and the output of calls too", () => {
    const view = viewOf(
      messageRow(1, 0, assistant("msg_0"), { parts: 1 }),
      partRow(1, 0, tool("prt_a", running)),
      pieceRow(2, 0, "line", { field: "output" }),
    )
    expect(viewItem(view, 0)!.parts[0]).toMatchObject({ state: { status: "running", output: "line" } })
    reduceRow(view, partRow(3, 0, tool("prt_a", completed("line 1"))))
    expect(viewItem(view, 0)!.parts[0]).toMatchObject({ state: { status: "completed", output: "line 1" } })
    expect(missing(view)).toEqual([])
  })

  test("that came with the part's row and were missed are in the sealed row", () => {
    const view = openView("ab")
    expect(reduceRow(view, partRow(1, 0, text("prt_a", "abcd")))).toBe(true)
    expect(reduceRow(view, partRow(1, 0, text("prt_a", "ab")))).toBe(false)
    expect(shownText(view)).toBe("abcd")
  })

  test("take time in proportion to the new text, not to the existing text", () => {
    const view = openView()
    const before = process.threadCpuUsage()
    for (let at = 0; at < 50_000; at++) reduceRow(view, pieceRow(at + 2, at * 20, "x".repeat(20)))
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(2000)
    expect(shownText(view)).toHaveLength(1_000_000)
  })
})

describe("deltas", () => {
  test("are shown only where their offset fits", () => {
    const view = openView("ab")
    expect(reduceDelta(view, delta(2, "cd"))).toBe(true)
    expect(reduceDelta(view, delta(2, "cd"))).toBe(false)
    expect(reduceDelta(view, delta(9, "zz"))).toBe(false)
    expect(reduceDelta(view, delta(3, "def"))).toBe(true)
    expect(shownText(view)).toBe("abcdef")
    expect(missing(view)).toEqual([])
    expect(reduceDelta(view, { ...delta(6, "x"), field: "output" })).toBe(false)
    expect(reduceDelta(view, { ...delta(6, "x"), messageID: "msg_9" })).toBe(false)
    expect(reduceDelta(view, { ...delta(6, "x"), partID: "prt_9" })).toBe(false)
  })

  test("stay when a piece confirms them, wholly or partly", () => {
    const view = openView()
    reduceDelta(view, delta(0, "abcd"))
    reduceRow(view, pieceRow(2, 0, "ab"))
    expect(shownText(view)).toBe("abcd")
    reduceRow(view, pieceRow(3, 2, "cd"))
    expect(shownText(view)).toBe("abcd")
  })

  test("are dropped when a piece, a part row or the seal contradicts them", () => {
    const view = openView()
    reduceDelta(view, delta(0, "wrong"))
    reduceRow(view, pieceRow(2, 0, "right"))
    expect(shownText(view)).toBe("right")
    reduceDelta(view, delta(5, " or not"))
    reduceRow(view, partRow(3, 0, text("prt_a", "new")))
    expect(shownText(view)).toBe("new")
    reduceDelta(view, delta(3, " unsaid"))
    reduceRow(view, messageRow(4, 0, assistant("msg_0"), { sealed: true, parts: 1 }))
    expect(shownText(view)).toBe("new")
    expect(reduceDelta(view, delta(3, " late"))).toBe(false)
  })
})

describe("messages and parts", () => {
  test("may come in any order within a batch and are whole at its end", () => {
    const view = viewOf(partRow(5, 0, text("prt_b", "b"), 1), sessionRow(6, 1))
    expect(missing(view)).toEqual([{ from: 0, to: 1 }])
    reduceRow(view, messageRow(6, 0, assistant("msg_0"), { parts: 2 }))
    expect(missing(view)).toEqual([{ from: 0, to: 1 }])
    reduceRow(view, partRow(7, 0, text("prt_a", "a"), 0))
    expect(missing(view)).toEqual([])
    expect(viewItem(view, 0)!.parts.map((part) => part.id)).toEqual(["prt_a", "prt_b"])
  })

  test("are ignored if they are older than the view's version", () => {
    const view = openView("new")
    reduceRow(view, messageRow(9, 0, { ...assistant("msg_0"), finish: "stop" }, { sealed: true, parts: 1 }))
    expect(reduceRow(view, messageRow(5, 0, assistant("msg_0"), { parts: 1 }))).toBe(false)
    expect(reduceRow(view, partRow(1, 0, text("prt_a", "old")))).toBe(false)
    expect(viewItem(view, 0)).toMatchObject({ sealed: true, version: 9, message: { finish: "stop" } })
  })

  test("drop the parts that the message no longer has, for good", () => {
    const view = openView("a")
    reduceRow(view, partRow(2, 0, text("prt_b", "b"), 1))
    reduceRow(view, messageRow(3, 0, assistant("msg_0"), { parts: 1 }))
    expect(viewItem(view, 0)!.parts).toHaveLength(1)
    expect(reduceRow(view, partRow(2, 0, text("prt_b", "b"), 1))).toBe(false)
    expect(reduceRow(view, pieceRow(2, 0, "b", { index: 1, partID: "prt_b" }))).toBe(false)
    reduceRow(view, partRow(4, 0, text("prt_c", "c"), 1))
    expect(viewItem(view, 0)!.parts.map((part) => part.id)).toEqual(["prt_a", "prt_c"])
  })

  test("stay the same object as long as they do not change", () => {
    const view = viewOf(
      messageRow(1, 0, user("msg_0"), { sealed: true, parts: 1 }),
      partRow(1, 0, text("prt_a", "a")),
      messageRow(2, 1, assistant("msg_1"), { parts: 1 }),
      partRow(2, 1, text("prt_b", "b")),
    )
    const [first, second] = viewMessages(view)
    expect(viewMessages(view)).toBe(viewMessages(view))
    const { revision } = view
    reduceRow(view, { ...pieceRow(3, 1, "c"), position: 1, messageID: "msg_1", partID: "prt_b" } as Row)
    expect(view.revision).toBeGreaterThan(revision)
    const after = viewMessages(view)
    expect(after[0]).toBe(first)
    expect(after[1]).not.toBe(second)
    expect(second!.parts[0]).toMatchObject({ text: "b" })
    expect(after[1]!.parts[0]).toMatchObject({ text: "bc" })
    reducePage(view, { items: structuredClone([...after]), count: 2, epoch: 0 })
    expect(viewMessages(view)).toBe(after)
  })
})

describe("a history row", () => {
  const items = (count: number): HistoryItem[] =>
    history(
      ...Array.from(
        { length: count },
        (_, at) => [user(`msg_${at}`), text(`prt_${at}`, "x")] as [Message, Part],
      ),
    )

  function loaded(count: number): SessionView {
    const view = viewOf(sessionRow(count, count))
    reducePage(view, { items: items(count), count, epoch: 0 })
    return view
  }

  test("drops messages that are gone, and old rows do not bring them back", () => {
    const view = loaded(4)
    reduceRow(view, sessionRow(10, 3, 1))
    reduceRow(view, { type: "history", version: 10, sessionID, epoch: 1, keep: 2 })
    expect(viewMessages(view).map((item) => item.position)).toEqual([0, 1])
    expect(missing(view)).toEqual([{ from: 2, to: 3 }])
    expect(reduceRow(view, messageRow(3, 2, user("msg_2"), { parts: 1 }))).toBe(false)
    reduceRow(view, messageRow(10, 2, user("msg_new"), { sealed: true }))
    expect(missing(view)).toEqual([])
    expect(viewItem(view, 2)!.message.id).toBe("msg_new")
    expect(viewCount(view)).toBe(3)
  })

  test("keeps messages that are newer than it or were paged in since", () => {
    const view = loaded(4)
    reducePage(view, { items: [{ ...items(3)[2]!, message: user("msg_other") }], count: 4, epoch: 1 })
    reduceRow(view, messageRow(12, 3, user("msg_new"), { sealed: true }))
    reduceRow(view, { type: "history", version: 11, sessionID, epoch: 1, keep: 0 })
    expect(viewMessages(view).map((item) => item.message.id)).toEqual(["msg_other", "msg_new"])
    expect(missing(view)).toEqual([{ from: 0, to: 2 }])
  })

  test("causes pages of an older epoch to be ignored", () => {
    const view = loaded(2)
    reduceRow(view, { type: "history", version: 10, sessionID, epoch: 1, keep: 0 })
    expect(reducePage(view, { items: items(2), count: 2, epoch: 0 })).toBe(false)
    expect(viewMessages(view)).toEqual([])
  })

  test("that was applied before changes nothing", () => {
    const view = loaded(3)
    const row: Row = { type: "history", version: 10, sessionID, epoch: 1, keep: 1 }
    expect(reduceRow(view, row)).toBe(true)
    reduceRow(view, messageRow(11, 1, user("msg_new"), { sealed: true }))
    expect(reduceRow(view, row)).toBe(false)
    expect(viewMessages(view)).toHaveLength(2)
  })

  test("keeps the notes of messages that stay and drops the others", () => {
    const view = loaded(2)
    const note = (version: number, position: number, value: unknown): Row => {
      return {
        type: "note",
        version,
        sessionID,
        position,
        messageID: `msg_${position}`,
        key: "summary",
        value,
      }
    }
    reduceRow(view, note(5, 0, "kept"))
    reduceRow(view, note(6, 1, "dropped"))
    reduceRow(view, { type: "history", version: 10, sessionID, epoch: 1, keep: 1 })
    reducePage(view, { items: [items(2)[1]!], count: 2, epoch: 1 })
    expect(viewMessages(view).map((item) => item.notes)).toEqual([{ summary: "kept" }, undefined])
    expect(reduceRow(view, note(6, 1, "dropped"))).toBe(false)
    reduceRow(view, note(11, 0, null))
    expect(viewItem(view, 0)).not.toHaveProperty("notes")
  })
})

describe("what is missing", () => {
  test("is given as ranges; with `last`, of the last messages only", () => {
    const view = viewOf(sessionRow(1, 100))
    expect(missing(view)).toEqual([{ from: 0, to: 100 }])
    expect(missing(view, { last: 10 })).toEqual([{ from: 90, to: 100 }])
    const items = history([user("msg_0")], [user("msg_1")]).map((item) => ({
      ...item,
      position: item.position + 94,
    }))
    reducePage(view, { items, count: 100, epoch: 0 })
    expect(missing(view, { last: 10 })).toEqual([
      { from: 90, to: 94 },
      { from: 96, to: 100 },
    ])
    expect(viewMessages(view).map((item) => item.position)).toEqual([94, 95])
  })
})

describe("the rest of a session", () => {
  const request: PermissionRequest = {
    id: "per_one",
    sessionID,
    permission: "bash",
    patterns: ["ls"],
    always: [],
    metadata: {},
    time: { created: 5 },
  }

  test("is replaced by newer rows only", () => {
    const todo = { id: "1", content: "x", status: "pending", priority: "high" } as const
    const earlier = { ...request, id: "per_two", time: { created: 4 } }
    const view = viewOf(
      { type: "todos", version: 2, sessionID, todos: [todo] },
      { type: "todos", version: 1, sessionID, todos: [] },
      { type: "inbox", version: 3, sessionID, items: [{ id: "a", type: "abort", sessionID, time: 1 }] },
      { type: "inbox", version: 2, sessionID, items: [] },
      { type: "permission", version: 4, sessionID, request: { ...request, reply: "once" } },
      { type: "permission", version: 3, sessionID, request },
      { type: "permission", version: 5, sessionID, request: earlier },
      sessionRow(6, 0),
      { type: "session", version: 5, sessionID, session: session({}, { title: "old" }) },
    )
    expect(view.todos).toEqual([todo])
    expect(view.inbox).toHaveLength(1)
    expect(viewPermissions(view).map(({ id, reply }) => [id, reply])).toEqual([
      ["per_two", undefined],
      ["per_one", "once"],
    ])
    expect(viewPermissions(view, { open: true })).toEqual([earlier])
    expect(view.session!.title).toBe("A session")
  })

  test("goes when the session is removed, and stays gone", () => {
    const view = openView("a")
    reduceRow(view, { type: "removed", version: 9, sessionID, directory: "/home/user/project" })
    expect(view.removed).toBe(true)
    expect(view.session).toBeUndefined()
    expect(viewMessages(view)).toEqual([])
    expect(missing(view)).toEqual([])
    expect(reduceRow(view, sessionRow(8, 1))).toBe(false)
    expect(reducePage(view, { items: [], count: 1, epoch: 0 })).toBe(false)
  })

  test("of another session is refused", () => {
    const view = openView()
    expect(() => reduceRow(view, { ...sessionRow(2, 0), sessionID: "ses_two" } as Row)).toThrow(
      /Use one view for each/,
    )
  })
})
