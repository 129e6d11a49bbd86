import assert from "node:assert/strict"
import type { Commit, Op } from "../../commit.ts"
import { failsWith, promised } from "../scene.ts"

export const errorCases = [
  promised("a malformed commit is refused and changes nothing", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const messageID = await run.say("a")
    const sessionID = run.id
    const before = { info: await run.info(), items: await run.items(), cursor: await store.cursor() }
    const segment = make.id("segment")
    const patch = { op: "session.patch", sessionID }
    const append = { op: "message.append", sessionID, message: make.user() }
    const piece = { op: "piece.add", sessionID, messageID, partID: make.id("part"), field: "text", text: "" }
    const malformed: unknown[] = [
      undefined,
      null,
      "commit",
      {},
      { ops: [] },
      { ops: [null] },
      { ops: [{ op: "session.explode", sessionID }] },
      { ops: [{ op: "session.create", session: { id: make.id("session") }, segment }] },
      { ops: [{ op: "session.create", session: make.session({ id: "nonsense" }), segment }] },
      { ops: [{ op: "session.create", session: make.session({ id: "ses_a/../b" }), segment }] },
      { ops: [{ op: "session.create", session: make.session(), segment: "nonsense" }] },
      { ops: [{ ...patch, set: { id: make.id("session") } }] },
      { ops: [{ ...patch, set: { title: null } }] },
      { ops: [{ ...patch, set: { cost: 1 } }] },
      { ops: [{ ...patch, add: { cost: -1 } }] },
      { ops: [{ ...patch, add: { cost: Number.NaN } }] },
      { ops: [{ ...append, message: { ...make.user(), role: "system" } }] },
      { ops: [{ ...append, parts: [{ id: make.id("part"), type: "unknown" }] }] },
      { ops: [{ ...append, parts: [{ ...make.text("a"), text: 1 }] }] },
      { ops: [{ ...piece, offset: -1 }] },
      { ops: [{ ...piece, offset: 0.5 }] },
      { ops: [{ op: "part.truncate", sessionID, messageID, keep: -1 }] },
      { ops: [patch], fences: { [sessionID]: 0 } },
      { ops: [patch], expectSeq: { [sessionID]: -1 } },
      { ops: [{ op: "note.put", sessionID, messageID, key: "n", value: 1n }] },
    ]
    for (const commit of malformed) await failsWith("invalid", store.commit(commit as Commit))
    assert.deepEqual(
      { info: await run.info(), items: await run.items(), cursor: await store.cursor() },
      before,
    )
  }),

  promised("an operation on a session that does not exist fails with not_found", async (scene) => {
    const { store, make } = scene
    const sessionID = make.id("session")
    const messageID = make.id("message")
    const part = make.text("a")
    const ops: Op[] = [
      { op: "session.publish", sessionID },
      { op: "session.patch", sessionID },
      { op: "session.fork", sourceID: sessionID, session: make.session(), segment: make.id("segment") },
      { op: "message.append", sessionID, message: make.user() },
      { op: "message.put", sessionID, message: make.user() },
      { op: "part.put", sessionID, messageID, part },
      { op: "part.truncate", sessionID, messageID, keep: 0 },
      { op: "piece.add", sessionID, messageID, partID: part.id, field: "text", offset: 0, text: "" },
      { op: "message.seal", sessionID, messageID },
      { op: "note.put", sessionID, messageID, key: "n", value: 1 },
      { op: "todos.put", sessionID, todos: [] },
      { op: "permission.put", request: make.permission(sessionID) },
      { op: "inbox.take", sessionID, itemID: "x" },
      { op: "history.move", sessionID, segment: make.id("segment"), messageID },
    ]
    for (const op of ops) await failsWith("not_found", store.commit({ ops: [op] }))
    await failsWith("not_found", store.remove(sessionID))
  }),

  promised("every operation of a run is refused without a lease", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const sessionID = run.id
    const sealed = await run.say("a")
    const part = make.text("b")
    const messageID = await run.begin(part)
    const prompt = make.prompt(sessionID)
    await store.admit(prompt)
    const before = await run.items()
    const ops: Op[] = [
      { op: "message.append", sessionID, message: make.user() },
      { op: "message.put", sessionID, message: make.assistant({ id: messageID }) },
      { op: "part.put", sessionID, messageID, part },
      { op: "part.truncate", sessionID, messageID, keep: 0 },
      { op: "piece.add", sessionID, messageID, partID: part.id, field: "text", offset: 1, text: "x" },
      { op: "message.seal", sessionID, messageID },
      { op: "inbox.take", sessionID, itemID: prompt.id },
      { op: "history.move", sessionID, segment: make.id("segment"), messageID: sealed },
    ]
    for (const op of ops) await failsWith("conflict", store.commit({ ops: [op] }))
    assert.deepEqual(await run.items(), before)
    assert.equal((await store.inbox(sessionID)).length, 1)
  }),

  promised("an id that looks like a path or an SQL statement is an unknown id", async ({ store }) => {
    for (const id of ["../../etc/passwd", "'; DROP TABLE session; --", "", "ses_\0", "__proto__"]) {
      await failsWith("not_found", store.session(id))
      await failsWith("not_found", store.tree(id))
      await failsWith("not_found", store.parents(id))
      await failsWith("not_found", store.history(id))
      await failsWith("not_found", store.claim(id))
      await failsWith("not_found", store.remove(id))
    }
  }),
]
