import assert from "node:assert/strict"
import { failsWith, promised } from "../scene.ts"

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs
const nothing = { messages: 0, sessions: 0, blobs: 0, blobBytes: 0 }

export const collectCases = [
  promised("a healthy store has nothing to collect and no problems", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const ids = await run.sayAll("a", "b")
    await run.moveBefore(ids[1]!)
    await scene.fork(run.id)
    const hash = await store.blobs.put(Buffer.from("x"))
    await run.append([make.file(`blob:${hash}`)])
    await run.begin(make.text("open"))
    const before = await run.items()
    assert.deepEqual(await store.collect({ blobAgeMs: 0, importAgeMs: 0 }), nothing)
    assert.deepEqual(await run.items(), before)
    assert.deepEqual(await store.check(), { problems: [] })
  }),

  promised(
    "unreferenced blobs are removed when they are old enough, and other blobs stay",
    async (scene) => {
      const { store, make, clock } = scene
      const run = await scene.session()
      const put = (text: string) => store.blobs.put(Buffer.from(text))
      const [loose, used, waiting] = [await put("loose"), await put("used"), await put("waiting")]
      await run.append([
        make.tool({
          status: "completed",
          input: {},
          output: "x",
          outputBlob: used,
          title: "",
          metadata: {},
          time: { start: 1, end: 2 },
        }),
      ])
      await store.admit({ ...make.prompt(run.id), parts: [make.file(`blob:${waiting}`)] })
      assert.deepEqual(await store.collect(), nothing)
      clock.advance(hourMs + 1)
      const young = await put("young")
      const collected = { ...nothing, blobs: 1, blobBytes: 5 }
      assert.deepEqual(await store.collect({ dryRun: true }), collected)
      assert.equal(await store.blobs.size(loose), 5)
      assert.deepEqual(await store.collect(), collected)
      await failsWith("not_found", store.blobs.size(loose))
      for (const hash of [used, waiting, young]) assert.ok((await store.blobs.size(hash)) > 0)
      assert.deepEqual(await store.collect({ blobAgeMs: 0 }), collected)
    },
    { needs: ["clock"] },
  ),

  promised(
    "putting a blob again resets its age",
    async (scene) => {
      const { store, clock } = scene
      const hash = await store.blobs.put(Buffer.from("x"))
      clock.advance(2 * hourMs)
      await store.blobs.put(Buffer.from("x"))
      assert.deepEqual(await store.collect(), nothing)
      assert.equal(await store.blobs.size(hash), 1)
    },
    { needs: ["clock"] },
  ),

  promised(
    "unpublished imports are removed after a day, whatever creation time the session has",
    async (scene) => {
      const { store, make, clock } = scene
      const session = make.session({ time: { created: 1, updated: 1 }, key: "k" })
      const create = () =>
        store.commit({
          ops: [
            { op: "session.create", session, segment: make.id("segment"), importing: true },
            { op: "message.append", sessionID: session.id, message: make.user(), parts: [make.text("a")] },
          ],
        })
      await create()
      const cursor = await store.cursor()
      assert.deepEqual(await store.collect(), nothing)
      clock.advance(dayMs)
      const collected = { ...nothing, sessions: 1, messages: 1 }
      assert.deepEqual(await store.collect({ dryRun: true }), collected)
      assert.deepEqual(await store.collect(), collected)
      assert.deepEqual(await store.collect(), nothing)
      assert.equal(await store.cursor(), cursor)
      await create()
    },
    { needs: ["clock"] },
  ),

  promised(
    "a removed session is remembered for thirty days, and a taken inbox item for a day",
    async (scene) => {
      const { store, make, clock } = scene
      const run = await scene.session()
      const item = make.prompt(run.id)
      await store.admit(item)
      await run.commit({ op: "inbox.take", sessionID: run.id, itemID: item.id })
      const gone = await scene.session()
      await store.remove(gone.id)
      clock.advance(dayMs - 1)
      await store.collect()
      assert.equal((await store.admit(item)).duplicate, true)
      clock.advance(1)
      await store.collect()
      assert.equal((await store.admit(item)).duplicate, false)
      assert.equal((await scene.rows({ sessionID: gone.id })).length, 1)
      clock.advance(29 * dayMs)
      await store.collect()
      await failsWith("not_found", store.changes({ sessionID: gone.id }))
    },
    { needs: ["clock"] },
  ),
]
