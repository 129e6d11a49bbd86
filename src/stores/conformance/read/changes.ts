import assert from "node:assert/strict"
import type { Row } from "../../../protocol/index.ts"
import type { Op } from "../../commit.ts"
import type { Scope } from "../../store.ts"
import { completed, pending } from "../samples.ts"
import { failsWith, promised, type Scene } from "../scene.ts"

const types = (rows: Row[]) => rows.map((row) => row.type)

/** Reads all rows after a cursor, page by page. */
async function paged(scene: Scene, scope: Scope, options: { since?: string; limit: number }): Promise<Row[]> {
  const rows: Row[] = []
  let since = options.since
  for (;;) {
    const page = await scene.store.changes(scope, since, { limit: options.limit })
    rows.push(...page.rows)
    if (!page.more) return rows
    assert.notEqual(page.cursor, since, "a page with more: true must advance the cursor")
    since = page.cursor
  }
}

export const changesCases = [
  promised(
    "changes from the beginning return every row once, in the order of the last changes",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session()
      const sessionID = run.id
      const first = await run.say("a")
      const open = await run.begin(make.text("b"))
      await run.note(first, "summary", "x")
      await run.commit({ op: "todos.put", sessionID, todos: [] })
      const request = make.permission(sessionID)
      await store.commit({ ops: [{ op: "permission.put", request }] })
      await store.admit(make.prompt(sessionID))
      const rows = await scene.rows({ sessionID })
      assert.deepEqual(types(rows), [
        ...["message", "part", "session", "message", "part", "note", "todos", "permission", "inbox"],
      ])
      assert.deepEqual(
        rows.map((row) => row.version),
        rows.map((row) => row.version).sort((a, b) => a - b),
      )
      assert.ok(rows.every((row) => row.sessionID === sessionID))
      await run.seal(open)
      assert.deepEqual(types(await scene.rows({ sessionID })), [
        ...["message", "part", "part", "note", "todos", "permission", "inbox", "session", "message"],
      ])
    },
  ),

  promised("changes after the cursor of a commit exclude the commit", async (scene) => {
    const { store } = scene
    const run = await scene.session()
    const { cursor } = await run.commit({ op: "session.patch", sessionID: run.id, set: { title: "x" } })
    assert.equal(cursor, await store.cursor())
    const none = await store.changes({ sessionID: run.id }, cursor)
    assert.deepEqual(none, { rows: [], cursor, more: false })
    await run.say("a")
    const some = await store.changes({ sessionID: run.id }, cursor)
    assert.deepEqual(types(some.rows), ["session", "message", "part"])
    assert.equal(some.cursor, await store.cursor())
  }),

  promised("the rows of a commit are ordered by type and position", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const sessionID = run.id
    const cursor = await store.cursor()
    const message = make.user()
    const parts = [make.text("a"), make.text("b")]
    const { version } = await run.commit({ op: "message.append", sessionID, message, parts, sealed: true })
    const info = await run.info()
    const place = { sessionID, messageID: message.id }
    assert.deepEqual(await scene.rows({ sessionID }, cursor), [
      { type: "session", version, sessionID, session: info },
      {
        type: "message",
        version,
        sessionID,
        position: 0,
        sealed: true,
        parts: 2,
        message: { ...message, sessionID },
      },
      { type: "part", version, sessionID, position: 0, index: 0, part: { ...parts[0], ...place } },
      { type: "part", version, sessionID, position: 0, index: 1, part: { ...parts[1], ...place } },
    ])
  }),

  promised("each piece gives one piece row, and sealing gives only the message row", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const sessionID = run.id
    const part = make.text("a")
    const messageID = await run.begin(part)
    const begun = await store.cursor()
    const one = await run.grow(messageID, { partID: part.id, offset: 1, text: "b" })
    const two = await run.grow(messageID, { partID: part.id, offset: 2, text: "cd" })
    const piece = {
      type: "piece",
      sessionID,
      position: 0,
      index: 0,
      messageID,
      partID: part.id,
      field: "text",
    }
    const second = { ...piece, version: two.version, offset: 2, text: "cd" }
    assert.deepEqual(await scene.rows({ sessionID }, begun), [
      { ...piece, version: one.version, offset: 1, text: "b" },
      second,
    ])
    assert.deepEqual(await scene.rows({ sessionID }, one.cursor), [second])
    const all = await scene.rows({ sessionID })
    const row = all.find((candidate) => candidate.type === "part")
    assert.equal(row?.type === "part" && row.part.type === "text" && row.part.text, "a")
    await run.seal(messageID)
    assert.deepEqual(types(await scene.rows({ sessionID }, two.cursor)), ["session", "message"])
    const missed = await scene.rows({ sessionID }, one.cursor)
    assert.deepEqual(types(missed), ["part", "session", "message"])
    const whole = missed[0]
    assert.equal(whole?.type === "part" && whole.part.type === "text" && whole.part.text, "abcd")
    assert.equal(whole?.version, two.version)
  }),

  promised(
    "a part that was put again comes without its old pieces, or with all pieces that it kept",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session()
      const sessionID = run.id
      const part = make.text("a")
      const messageID = await run.begin(part)
      await run.grow(messageID, { partID: part.id, offset: 1, text: "b" })
      const { cursor } = await run.grow(messageID, { partID: part.id, offset: 2, text: "c" })
      const kept = await run.put(messageID, { ...part, text: "", synthetic: true }, { grown: "keep" })
      const rows = await scene.rows({ sessionID }, cursor)
      assert.deepEqual(types(rows), ["part", "piece", "piece"])
      assert.ok(rows.every((row) => row.version === kept.version))
      assert.deepEqual(
        rows.map((row) => (row.type === "piece" ? [row.offset, row.text] : row.type)),
        ["part", [1, "b"], [2, "c"]],
      )
      await run.put(messageID, { ...part, text: "new" })
      assert.deepEqual(types(await scene.rows({ sessionID }, cursor)), ["part"])
      assert.equal(await store.cursor(), (await store.changes({ sessionID }, cursor)).cursor)
    },
  ),

  promised("truncated parts give a message row with fewer parts", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const sessionID = run.id
    const messageID = await run.begin(make.text("a"), make.text("b"))
    const cursor = await store.cursor()
    await run.put(messageID, make.text("c"))
    await run.commit({ op: "part.truncate", sessionID, messageID, keep: 1 })
    const rows = await scene.rows({ sessionID }, cursor)
    assert.deepEqual(types(rows), ["message"])
    assert.equal(rows[0]?.type === "message" && rows[0].parts, 1)
  }),

  promised("changes that do not affect the session row give no session row", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const sessionID = run.id
    const first = await run.say("a")
    const message = make.assistant()
    const call = make.tool(pending)
    await run.commit({ op: "message.append", sessionID, message, parts: [call] })
    const cursor = await store.cursor()
    const messageID = message.id
    const request = make.permission(sessionID)
    await run.grow(messageID, { partID: call.id, field: "raw", offset: 0, text: "{" })
    await run.put(messageID, { ...call, state: completed })
    await run.commit({ op: "message.put", sessionID, message })
    await run.note(first, "summary", null)
    await run.commit({ op: "todos.put", sessionID, todos: [] }, { op: "permission.put", request })
    const prompt = make.prompt(sessionID)
    await store.admit(prompt)
    await run.commit({ op: "inbox.take", sessionID, itemID: prompt.id })
    const rows = await scene.rows({ sessionID }, cursor)
    assert.deepEqual(types(rows), ["part", "message", "note", "todos", "permission", "inbox"])
    assert.deepEqual(rows[5]?.type === "inbox" && rows[5].items, [])
    assert.equal(rows[2]?.type === "note" && rows[2].value, null)
  }),

  promised(
    "a page never ends in the middle of a commit, and all pages together have every row",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session()
      await run.sayAll("a", "b", "c")
      await run.append([make.text("1"), make.text("2"), make.text("3")])
      const scope = { sessionID: run.id }
      const whole = await scene.rows(scope)
      for (const limit of [1, 2, 3, 5]) {
        assert.deepEqual(await paged(scene, scope, { limit }), whole)
        const page = await store.changes(scope, undefined, { limit })
        const last = page.rows.at(-1)?.version ?? 0
        assert.ok(page.rows.length >= limit)
        assert.deepEqual(
          page.rows,
          whole.filter((row) => row.version <= last),
        )
      }
      for (const limit of [0, -1, 0.5, 10_001])
        await failsWith("invalid", store.changes(scope, undefined, { limit }))
    },
  ),

  promised(
    "todos, each permission request and the inbox give one row with the present value",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session()
      const sessionID = run.id
      const cursor = await store.cursor()
      const todo = { id: "1", content: "x", status: "pending" as const, priority: "low" as const }
      const requests = [make.permission(sessionID), make.permission(sessionID)]
      // Rows come in the order in which requests were asked, which must not be confused with the order of their ids.
      requests.sort((a, b) => (a.id < b.id ? 1 : -1))
      const [first, second] = [requests[0]!, requests[1]!]
      await run.commit({ op: "todos.put", sessionID, todos: [todo] })
      await run.commit({ op: "todos.put", sessionID, todos: [{ ...todo, status: "completed" }] })
      await run.commit({ op: "permission.put", request: first }, { op: "permission.put", request: second })
      const prompts = [make.prompt(sessionID), make.prompt(sessionID)]
      for (const prompt of prompts) await store.admit(prompt)
      const rows = await scene.rows({ sessionID }, cursor)
      assert.deepEqual(types(rows), ["todos", "permission", "permission", "inbox"])
      assert.deepEqual(rows[0]?.type === "todos" && rows[0].todos, [{ ...todo, status: "completed" }])
      assert.deepEqual(rows[1]?.type === "permission" && rows[1].request, first)
      assert.deepEqual(rows[2]?.type === "permission" && rows[2].request, second)
      assert.deepEqual(rows[3]?.type === "inbox" && rows[3].items, prompts)
      const admitted = await store.cursor()
      await run.commit({ op: "inbox.take", sessionID, itemID: prompts[0]!.id })
      const [inbox] = await scene.rows({ sessionID }, admitted)
      assert.deepEqual(inbox?.type === "inbox" && inbox.items, prompts.slice(1))
      const answered = { ...first, reply: "once" as const }
      const asked = await store.cursor()
      await run.commit({ op: "permission.put", request: answered })
      const [row] = await scene.rows({ sessionID }, asked)
      assert.deepEqual(row?.type === "permission" && row.request, answered)
    },
  ),

  promised(
    "rows of several sessions that one commit changed are ordered by type, then by creation of the session",
    async (scene) => {
      const { store, make } = scene
      const first = await scene.session()
      const second = await scene.session()
      const cursor = await store.cursor()
      const append = (sessionID: string): Op => ({
        op: "message.append",
        sessionID,
        message: make.user(),
        parts: [make.text("x")],
        sealed: true,
      })
      await store.commit({
        ops: [append(second.id), append(first.id)],
        fences: { [first.id]: first.lease.fence, [second.id]: second.lease.fence },
      })
      assert.deepEqual(
        (await scene.rows({ directory: "/work" }, cursor)).map((row) => [row.type, row.sessionID]),
        ["session", "message", "part"].flatMap((type) => [
          [type, first.id],
          [type, second.id],
        ]),
      )
    },
  ),
]
