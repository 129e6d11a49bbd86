import assert from "node:assert/strict"
import type { InboxItem } from "../../../protocol/index.ts"
import type { Op } from "../../commit.ts"
import { failsWith, promised } from "../scene.ts"

export const inboxCases = [
  promised("items wait in order of admission, and admitting needs no lease", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const sessionID = run.id
    const base = { sessionID, time: 5 }
    const items: InboxItem[] = [
      make.prompt(sessionID, "one"),
      { ...base, id: "abort-1", type: "abort", reason: "stop" },
      { ...base, id: "compact-1", type: "compact" },
      { ...base, id: "answer-1", type: "answer", permissionID: make.id("permission"), reply: "always" },
      { ...make.prompt(sessionID, "two"), delivery: "queue" },
    ]
    for (const item of items) assert.equal((await store.admit(item)).duplicate, false)
    assert.deepEqual(await store.inbox(sessionID), items)
  }),

  promised("admitting the same item twice is a duplicate, also after it was taken", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const item = make.prompt(run.id)
    await store.admit(item)
    const { seq } = await run.info()
    const cursor = await store.cursor()
    assert.deepEqual(await store.admit(item), { duplicate: true, cursor })
    assert.equal((await store.admit({ ...item, time: item.time + 1000 })).duplicate, true)
    const { parts, message, ...rest } = item
    assert.equal((await store.admit({ parts, message, ...rest } as InboxItem)).duplicate, true)
    assert.deepEqual(await store.inbox(run.id), [item])
    assert.equal((await run.info()).seq, seq)
    await run.commit({ op: "inbox.take", sessionID: run.id, itemID: item.id })
    assert.equal((await store.admit(item)).duplicate, true)
    assert.deepEqual(await store.inbox(run.id), [])
  }),

  promised("the same id with another payload is refused, also after the item was taken", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const item = make.prompt(run.id)
    const other = { ...item, delivery: "queue" as const }
    await store.admit(item)
    await failsWith("conflict", store.admit(other))
    assert.deepEqual(await store.inbox(run.id), [item])
    await run.commit({ op: "inbox.take", sessionID: run.id, itemID: item.id })
    await failsWith("conflict", store.admit(other))
    const elsewhere = await scene.session()
    assert.equal((await store.admit({ ...other, sessionID: elsewhere.id })).duplicate, false)
  }),

  promised("an item is taken exactly once, in the commit that appends its message", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const item = make.prompt(run.id)
    await store.admit(item)
    const ops: Op[] = [
      { op: "inbox.take", sessionID: run.id, itemID: item.id },
      { op: "message.append", sessionID: run.id, message: item.message, parts: item.parts, sealed: true },
    ]
    await failsWith("invalid", run.commit(...ops, { op: "session.publish", sessionID: run.id }))
    assert.deepEqual(await store.inbox(run.id), [item])
    const results = await Promise.allSettled([run.commit(...ops), run.commit(...ops)])
    assert.deepEqual(
      results.map((result) => result.status),
      ["fulfilled", "rejected"],
    )
    assert.deepEqual(await run.texts(), ["hello"])
    assert.deepEqual(await store.inbox(run.id), [])
    await failsWith("conflict", run.commit(ops[0]!))
    await failsWith("not_found", run.commit({ op: "inbox.take", sessionID: run.id, itemID: "never" }))
  }),

  promised("admitting counts as a commit of the session, and the session must exist", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const { seq } = await run.info()
    const { cursor } = await store.admit(make.prompt(run.id))
    assert.equal((await run.info()).seq, seq + 1)
    assert.equal(cursor, await store.cursor())
    await failsWith("not_found", store.admit(make.prompt(make.id("session"))))
    await failsWith("not_found", store.inbox(make.id("session")))
    const malformed = { ...make.prompt(run.id), delivery: "soon" } as unknown as InboxItem
    await failsWith("invalid", store.admit(malformed))
    assert.equal((await store.inbox(run.id)).length, 1)
  }),

  promised("many admissions in one event loop tick all arrive, in order", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const items = Array.from({ length: 20 }, (_, i) => make.prompt(run.id, `${i}`))
    await Promise.all(items.map((item) => store.admit(item)))
    assert.deepEqual(await store.inbox(run.id), items)
  }),
]
