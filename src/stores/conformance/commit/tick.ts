import assert from "node:assert/strict"
import type { Op } from "../../commit.ts"
import { failsWith, promised } from "../scene.ts"

export const tickCases = [
  promised("commits of one event loop tick are applied in the order of the calls", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const part = make.text("")
    const messageID = await run.begin(part)
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, offset) =>
        run.grow(messageID, { partID: part.id, offset, text: String(offset % 10) }),
      ),
    )
    assert.deepEqual(await run.texts(), ["0123456789".repeat(5)])
    const first = results[0]!.version
    assert.deepEqual(
      results.map((result) => result.version),
      results.map((_, i) => first + i),
    )
    assert.equal(results.at(-1)?.seq[run.id], (await run.info()).seq)
  }),

  promised("a commit that fails does not affect the other commits of its event loop tick", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const messages = Array.from({ length: 9 }, () => make.user())
    const results = await Promise.allSettled(
      messages.map((message, i) => {
        const append: Op = { op: "message.append", sessionID: run.id, message, sealed: true }
        const broken: Op = {
          op: "note.put",
          sessionID: run.id,
          messageID: make.id("message"),
          key: "x",
          value: 1,
        }
        return run.commit(append, ...(i % 3 === 1 ? [broken] : []))
      }),
    )
    assert.deepEqual(
      results.map((result) => result.status === "fulfilled"),
      messages.map((_, i) => i % 3 !== 1),
    )
    assert.deepEqual(
      (await run.items()).map((item) => item.message.id),
      messages.filter((_, i) => i % 3 !== 1).map((message) => message.id),
    )
  }),

  promised("sessions that are written at the same time do not mix", async (scene) => {
    const runs = await Promise.all(Array.from({ length: 10 }, () => scene.session()))
    await Promise.all(
      runs.map(async (run, i) => {
        for (let j = 0; j < 10; j++) await run.say(`${i}.${j}`)
      }),
    )
    for (const [i, run] of runs.entries()) {
      assert.deepEqual(
        await run.texts(),
        Array.from({ length: 10 }, (_, j) => `${i}.${j}`),
      )
    }
  }),

  promised("a read sees every commit that was acknowledged before it", async (scene) => {
    const run = await scene.session()
    for (let i = 0; i < 20; i++) {
      await run.say(`walrus ${i}`)
      assert.equal((await scene.store.history(run.id, { limit: 1 })).items[0]?.position, i)
      assert.equal((await run.info()).history.count, i + 1)
    }
    assert.equal((await scene.store.search({ text: "walrus" })).hits.length, 20)
  }),

  promised("of two simultaneous claims or creations of the same session, one succeeds", async (scene) => {
    const { store, make } = scene
    const session = make.session({ key: "k" })
    const create = () =>
      store.commit({ ops: [{ op: "session.create", session, segment: make.id("segment") }] })
    const created = await Promise.allSettled([create(), create()])
    assert.deepEqual(created.map((result) => result.status).sort(), ["fulfilled", "rejected"])
    const claimed = await Promise.allSettled([store.claim(session.id), store.claim(session.id)])
    assert.deepEqual(claimed.map((result) => result.status).sort(), ["fulfilled", "rejected"])
  }),

  promised("closing finishes submitted commits, and later calls are unavailable", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const saying = run.say("last words")
    const closing = store.close()
    await saying
    await closing
    await store.close()
    const calls = [
      () => run.say("more"),
      () => store.session(run.id),
      () => store.sessions(),
      () => store.history(run.id),
      () => store.changes({ sessionID: run.id }),
      () => store.cursor(),
      () => store.search({ text: "last" }),
      () => store.admit(make.prompt(run.id)),
      () => store.inbox(run.id),
      () => store.claim(run.id),
      () => store.remove(run.id),
      () => store.redact({ sessionID: run.id }),
      () => store.blobs.put(Buffer.from("x")),
      () => store.collect(),
      () => store.check(),
    ]
    for (const call of calls) await failsWith("unavailable", call())
  }),

  promised(
    "every acknowledged commit is there after reopening",
    async (scene) => {
      const { make } = scene
      const run = await scene.session({ title: "kept", agent: "build", key: "k" })
      const sessionID = run.id
      const ids = await run.sayAll("a", "b", "c")
      await run.note(ids[0]!, "summary", { kept: true })
      const left = (await run.info()).history.segment
      await run.moveBefore(ids[2]!)
      const fork = await scene.fork(sessionID)
      await fork.say("in the fork")
      const gone = await scene.session()
      await scene.store.remove(gone.id)
      const part = make.text("op")
      const messageID = await run.begin(part, make.reasoning("hm"))
      await run.grow(messageID, { partID: part.id, offset: 2, text: "en" })
      const todos = [{ id: "1", content: "x", status: "pending", priority: "low" } as const]
      await run.commit(
        { op: "todos.put", sessionID, todos },
        { op: "permission.put", request: make.permission(sessionID) },
        { op: "session.patch", sessionID, add: { cost: 0.1 } },
      )
      const taken = make.prompt(sessionID)
      await scene.store.admit(taken)
      await run.commit({ op: "inbox.take", sessionID, itemID: taken.id })
      await scene.store.admit(make.prompt(sessionID))
      const read = async () => ({
        sessions: await scene.store.sessions(),
        items: await run.items(),
        left: await run.items(left),
        fork: await fork.items(),
        todos: await scene.store.todos(sessionID),
        permissions: await scene.store.permissions({ sessionID }),
        inbox: await scene.store.inbox(sessionID),
        rows: await scene.rows({ directory: "/work" }),
        cursor: await scene.store.cursor(),
        hits: (await scene.store.search({ text: "fork" })).hits,
        problems: (await scene.store.check()).problems,
      })
      const before = await read()
      await scene.reopen()
      assert.deepEqual(await read(), before)
      assert.equal((await scene.store.admit(taken)).duplicate, true)
      assert.deepEqual(before.problems, [])
      await run.grow(messageID, { partID: part.id, offset: 4, text: "!" })
      await run.seal(messageID)
      assert.deepEqual(await run.texts(), ["a", "b", "open!"])
      await scene.reopen()
      assert.deepEqual(await run.texts(), ["a", "b", "open!"])
    },
    { needs: ["reopen", "clock"] },
  ),
]
