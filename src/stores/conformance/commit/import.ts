import assert from "node:assert/strict"
import type { Op } from "../../commit.ts"
import { failsWith, promised, type Scene } from "../scene.ts"

/** Starts the import of a session with two messages, in two commits and without a lease. */
async function beginImport(scene: Scene, title = "imported walrus") {
  const { store, make } = scene
  const session = make.session({ title, key: title })
  const sessionID = session.id
  const create: Op = { op: "session.create", session, segment: make.id("segment"), importing: true }
  const messages = [make.user(), make.user()]
  const append = (message: (typeof messages)[0], text: string): Op => ({
    op: "message.append",
    sessionID,
    message,
    parts: [make.text(text)],
    sealed: true,
  })
  await store.commit({ ops: [create, append(messages[0]!, "walrus one")] })
  await store.commit({ ops: [append(messages[1]!, "walrus two")] })
  return { sessionID, session, messages }
}

export const importCases = [
  promised("a session is invisible while it is being imported", async (scene) => {
    const { store, make } = scene
    const cursor = await store.cursor()
    const { sessionID, messages } = await beginImport(scene)
    const calls = [
      () => store.session(sessionID),
      () => store.tree(sessionID),
      () => store.parents(sessionID),
      () => store.history(sessionID),
      () => store.todos(sessionID),
      () => store.inbox(sessionID),
      () => store.changes({ sessionID }),
      () => store.changes({ treeID: sessionID }),
      () => store.admit(make.prompt(sessionID)),
      () => store.claim(sessionID),
      () => store.redact({ sessionID, messageID: messages[0]!.id }),
      () => scene.fork(sessionID),
      () => scene.session({ parentID: sessionID }),
    ]
    for (const call of calls) await failsWith("not_found", call())
    assert.deepEqual((await store.sessions()).items, [])
    assert.deepEqual((await store.search({ text: "walrus" })).hits, [])
    assert.deepEqual(await scene.rows({ directory: "/work" }, cursor), [])
    await store.commit({ ops: [{ op: "permission.put", request: make.permission(sessionID) }] })
    const share = { url: "https://example.org", secret: "s".repeat(24) }
    await store.commit({ ops: [{ op: "session.patch", sessionID, set: { share } }] })
    assert.deepEqual(await store.permissions({ open: true }), [])
    assert.deepEqual((await store.sessions({ share: share.secret })).items, [])
    await failsWith("not_found", store.permissions({ sessionID }))
    await failsWith("conflict", scene.session({ key: "imported walrus" }))
  }),

  promised("publishing makes the whole imported session visible at once", async (scene) => {
    const { store, make } = scene
    const { sessionID, messages } = await beginImport(scene)
    const todos = [{ id: "1", content: "x", status: "pending", priority: "low" } as const]
    const request = make.permission(sessionID)
    const messageID = messages[0]!.id
    await store.commit({
      ops: [
        { op: "note.put", sessionID, messageID, key: "summary", value: "noted" },
        { op: "todos.put", sessionID, todos },
        { op: "permission.put", request },
        { op: "session.patch", sessionID, set: { agent: "build" }, add: { cost: 0.5 } },
      ],
    })
    const cursor = await store.cursor()
    const { version } = await store.commit({ ops: [{ op: "session.publish", sessionID }] })
    const info = await store.session(sessionID)
    assert.deepEqual([info.history.count, info.history.epoch, info.cost, info.agent], [2, 1, 0.5, "build"])
    assert.deepEqual(await scene.rows({ sessionID }, cursor), [
      { type: "session", version, sessionID, session: info },
      { type: "history", version, sessionID, epoch: 1, keep: 0 },
      { type: "todos", version, sessionID, todos },
      { type: "permission", version, sessionID, request },
    ])
    const run = await scene.run(sessionID)
    assert.deepEqual(await run.texts(), ["walrus one", "walrus two"])
    assert.deepEqual((await run.items())[0]?.notes, { summary: "noted" })
    assert.equal((await store.search({ text: "walrus" })).hits.length, 3)
    await run.say("three")
    assert.deepEqual(await (await scene.fork(sessionID)).texts(), ["walrus one", "walrus two", "three"])
  }),

  promised(
    "only a session that is being imported can be published, and after that its run needs a lease",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session()
      const publish = (sessionID: string) => store.commit({ ops: [{ op: "session.publish", sessionID }] })
      await failsWith("invalid", publish(run.id))
      await failsWith("not_found", publish(make.id("session")))
      const { sessionID } = await beginImport(scene)
      await publish(sessionID)
      await failsWith("invalid", publish(sessionID))
      const append: Op = { op: "message.append", sessionID, message: make.user(), sealed: true }
      await failsWith("conflict", store.commit({ ops: [append] }))
    },
  ),

  promised("an import can be published in the commit that creates the session", async (scene) => {
    const { store, make } = scene
    const session = make.session()
    await store.commit({
      ops: [
        { op: "session.create", session, segment: make.id("segment"), importing: true },
        { op: "message.append", sessionID: session.id, message: make.user(), sealed: true },
        { op: "session.publish", sessionID: session.id },
      ],
    })
    assert.equal((await store.session(session.id)).history.count, 1)
  }),

  promised(
    "an unpublished import can be removed without a record and started again with the same id",
    async (scene) => {
      const { store, make } = scene
      const { sessionID, session } = await beginImport(scene)
      const removal = await store.remove(sessionID)
      assert.deepEqual([removal.sessions, removal.messages], [[sessionID], 2])
      assert.deepEqual(await scene.rows({ directory: "/work" }), [])
      await failsWith("not_found", store.changes({ sessionID }))
      await store.commit({ ops: [{ op: "session.create", session, segment: make.id("segment") }] })
      assert.equal((await store.session(sessionID)).history.count, 0)
    },
  ),

  promised(
    "an unpublished import survives a reopen, stays invisible and can be published",
    async (scene) => {
      const { sessionID } = await beginImport(scene)
      await scene.reopen()
      await failsWith("not_found", scene.store.session(sessionID))
      await scene.store.commit({ ops: [{ op: "session.publish", sessionID }] })
      assert.equal((await scene.store.history(sessionID)).count, 2)
    },
    { needs: ["reopen"] },
  ),
]
