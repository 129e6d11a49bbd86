import assert from "node:assert/strict"
import type { Row } from "../../../protocol/index.ts"
import type { Scope } from "../../store.ts"
import { failsWith, promised } from "../scene.ts"

const types = (rows: Row[]) => rows.map((row) => row.type)

export const changesScopeCases = [
  promised(
    "changes of a fork are a history row that keeps nothing and the fork's own messages",
    async (scene) => {
      const { store } = scene
      const source = await scene.session()
      await source.sayAll("a", "b")
      const cursor = await store.cursor()
      const fork = await scene.fork(source.id)
      const scope = { sessionID: fork.id }
      for (const since of [cursor, undefined]) {
        const rows = await scene.rows(scope, since)
        assert.deepEqual(types(rows), ["session", "history"])
        const [, row] = rows
        assert.deepEqual(row?.type === "history" && [row.epoch, row.keep], [1, 0])
      }
      await fork.say("c")
      const rows = await scene.rows(scope, cursor)
      assert.deepEqual(types(rows), ["history", "session", "message", "part"])
      assert.equal(rows[2]?.type === "message" && rows[2].position, 2)
    },
  ),

  promised(
    "changes of a fork include its tail and its own notes, but not the notes of its source",
    async (scene) => {
      const { store, make } = scene
      const source = await scene.session()
      const id = await source.say("a")
      await source.note(id, "summary", "of the source")
      const session = make.session()
      const tail = { message: make.user(), parts: [make.text("b")] }
      await store.commit({
        ops: [{ op: "session.fork", sourceID: source.id, session, segment: make.id("segment"), tail }],
      })
      const fork = await scene.run(session.id)
      await fork.note(id, "seen", 1)
      const rows = await scene.rows({ sessionID: fork.id })
      assert.deepEqual(types(rows), ["session", "history", "message", "part", "note"])
      assert.deepEqual(rows[4]?.type === "note" && [rows[4].position, rows[4].key], [0, "seen"])
    },
  ),

  promised(
    "each move gives a history row, and pages that end between two moves lose neither",
    async (scene) => {
      const { store } = scene
      const run = await scene.session()
      const scope = { sessionID: run.id }
      const ids = await run.sayAll("a", "b", "c", "d")
      const before = await store.cursor()
      await run.moveBefore(ids[1]!)
      const between = await store.cursor()
      await run.sayAll("e", "f")
      const last = await run.say("g")
      await run.moveBefore(last)
      const history = (rows: Row[]) =>
        rows.flatMap((row) => (row.type === "history" ? [[row.epoch, row.keep]] : []))
      const moves = [
        [2, 1],
        [2, 3],
      ]
      assert.deepEqual(history(await scene.rows(scope, before)), moves)
      assert.deepEqual(history(await scene.rows(scope, between)), moves.slice(1))
      const paged: Row[] = []
      for (let since = before, more = true; more; ) {
        const page = await store.changes(scope, since, { limit: 1 })
        paged.push(...page.rows)
        since = page.cursor
        more = page.more
      }
      assert.deepEqual(history(paged), moves)
      const rows = await scene.rows(scope, before)
      const positions = rows.flatMap((row) => (row.type === "message" ? [row.position] : []))
      assert.deepEqual(positions, [1, 2], "only messages of the present history")
    },
  ),

  promised("changes include what a fork writes after it moved back into shared messages", async (scene) => {
    const source = await scene.session()
    const ids = await source.sayAll("a", "b", "c")
    const fork = await scene.fork(source.id)
    await fork.moveBefore(ids[1]!)
    await fork.say("d")
    const rows = await scene.rows({ sessionID: fork.id })
    assert.deepEqual(
      rows.map((row) => (row.type === "message" ? row.position : row.type)),
      ["history", "history", "session", 1, "part"],
    )
  }),

  promised(
    "after a move that removes notes, replicas keep only the messages before these notes",
    async (scene) => {
      const { store } = scene
      const run = await scene.session()
      const ids = await run.sayAll("a", "b", "c", "d")
      await run.note(ids[1]!, "summary", "written at four")
      const cursor = await store.cursor()
      await run.moveBefore(ids[3]!)
      const row = (await scene.rows({ sessionID: run.id }, cursor)).find(({ type }) => type === "history")
      assert.equal(row?.type === "history" && row.keep, 1)
      assert.deepEqual((await run.info()).history.left[0]?.keep, 3)
    },
  ),

  promised("the scopes tree and directory include the changes of all their sessions", async (scene) => {
    const { store } = scene
    const root = await scene.session({ directory: "/one" })
    const child = await scene.session({ directory: "/two", parentID: root.id })
    const grandchild = await scene.session({ directory: "/two", parentID: child.id })
    const other = await scene.session({ directory: "/two" })
    const named = async (scope: Scope) => (await scene.rows(scope)).map((row) => row.sessionID)
    assert.deepEqual(await named({ treeID: root.id }), [root.id, child.id, grandchild.id])
    assert.deepEqual(await named({ treeID: child.id }), [child.id, grandchild.id])
    assert.deepEqual(await named({ directory: "/two" }), [child.id, grandchild.id, other.id])
    assert.deepEqual(await named({ directory: "/none" }), [])
    const cursor = await store.cursor()
    await grandchild.say("a")
    await other.say("b")
    const rows = await scene.rows({ treeID: root.id }, cursor)
    assert.deepEqual(new Set(rows.map((row) => row.sessionID)), new Set([grandchild.id]))
  }),

  promised("a removed session gives a removed row and no other row", async (scene) => {
    const { store } = scene
    const root = await scene.session({ directory: "/one" })
    const child = await scene.session({ directory: "/two", parentID: root.id })
    const leaf = await scene.session({ directory: "/two", parentID: child.id })
    await leaf.say("a")
    const cursor = await store.cursor()
    await store.remove(child.id)
    const [row, leafRow] = await scene.rows({ treeID: root.id }, cursor)
    const version = row?.version
    const removed = { type: "removed", version, directory: "/two" }
    const rows = [
      { ...removed, sessionID: child.id, parentID: root.id },
      { ...removed, sessionID: leaf.id, parentID: child.id },
    ]
    assert.deepEqual([row, leafRow], rows)
    for (const since of [cursor, undefined]) {
      assert.deepEqual(await scene.rows({ directory: "/two" }, since), rows)
      assert.deepEqual(await scene.rows({ treeID: child.id }, since), rows)
      assert.deepEqual(await scene.rows({ sessionID: leaf.id }, since), rows.slice(1))
    }
    assert.deepEqual(await scene.rows({ treeID: root.id }, await store.cursor()), [])
    await store.remove(root.id)
    assert.ok(!("parentID" in (await scene.rows({ sessionID: root.id }))[0]!))
  }),

  promised("changes of a session that never existed fail with not_found", async (scene) => {
    const id = scene.make.id("session")
    await failsWith("not_found", scene.store.changes({ sessionID: id }))
    await failsWith("not_found", scene.store.changes({ treeID: id }))
  }),

  promised("a cursor of another store, a future cursor and a malformed cursor are refused", async (scene) => {
    const run = await scene.session()
    const scope = { sessionID: run.id }
    const { store } = scene
    const own = await store.cursor()
    const other = await scene.open()
    await other.commit({
      ops: [{ op: "session.create", session: scene.make.session(), segment: scene.make.id("segment") }],
    })
    const foreign = await other.cursor()
    for (const cursor of [foreign, `${own}zz`, "", "nonsense", "!"]) {
      await failsWith("invalid", store.changes(scope, cursor))
    }
    assert.deepEqual((await store.changes(scope, own)).rows, [])
  }),
]
