import assert from "node:assert/strict"
import type { PartBody } from "../../../protocol/index.ts"
import type { HistoryQuery } from "../../store.ts"
import { failsWith, promised, type Scene, textOf } from "../scene.ts"

/** Creates a session with ten messages whose texts are their positions. */
async function tenMessages(scene: Scene) {
  const run = await scene.session()
  const ids = await run.sayAll(..."0123456789")
  const texts = async (query: HistoryQuery) => {
    const page = await scene.store.history(run.id, query)
    assert.equal(page.count, 10)
    return { texts: page.items.map(textOf).join(""), more: page.more }
  }
  return { run, ids, texts }
}

export const historyCases = [
  promised("a page is in order of position, whichever end it is taken from", async (scene) => {
    const { texts } = await tenMessages(scene)
    assert.deepEqual(await texts({}), { texts: "0123456789", more: false })
    assert.deepEqual(await texts({ limit: 3 }), { texts: "789", more: true })
    assert.deepEqual(await texts({ limit: 3, take: "start" }), { texts: "012", more: true })
    assert.deepEqual(await texts({ limit: 10, take: "start" }), { texts: "0123456789", more: false })
  }),

  promised(
    "a page stays within its bounds and reports whether there are more messages within them",
    async (scene) => {
      const { texts } = await tenMessages(scene)
      assert.deepEqual(await texts({ from: 7 }), { texts: "789", more: false })
      assert.deepEqual(await texts({ to: 3 }), { texts: "012", more: false })
      assert.deepEqual(await texts({ from: 2, to: 6, limit: 2 }), { texts: "45", more: true })
      assert.deepEqual(await texts({ from: 2, to: 6, limit: 2, take: "start" }), { texts: "23", more: true })
      assert.deepEqual(await texts({ from: 4, to: 6, limit: 2 }), { texts: "45", more: false })
      assert.deepEqual(await texts({ from: 20 }), { texts: "", more: false })
      assert.deepEqual(await texts({ from: 6, to: 5 }), { texts: "", more: false })
      assert.deepEqual(await texts({ to: 100, limit: 1 }), { texts: "9", more: true })
    },
  ),

  promised("a message is found by its id, and an unknown id fails with not_found", async (scene) => {
    const { run, ids, texts } = await tenMessages(scene)
    assert.deepEqual(await texts({ messageID: ids[4] }), { texts: "4", more: false })
    await failsWith("not_found", scene.store.history(run.id, { messageID: scene.make.id("message") }))
  }),

  promised("a limit outside 1 to 1,000 or a bound that is not a position is refused", async (scene) => {
    const { run } = await tenMessages(scene)
    for (const query of [{ limit: 0 }, { limit: 1001 }, { limit: 1.5 }, { from: -1 }, { to: 0.5 }]) {
      await failsWith("invalid", scene.store.history(run.id, query))
    }
  }),

  promised("messages with compactions and with prune marks are found", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const part = (fields: object) => ({ id: make.id("part"), ...fields }) as PartBody
    await run.say("0")
    const compaction = await run.append([make.text("1"), part({ type: "compaction", auto: true })])
    await run.append([part({ type: "step-start" }), make.text("2")])
    const prune = await run.append([part({ type: "step-start", prune: { time: 1, parts: [] } })])
    const second = await run.append([part({ type: "compaction", auto: false, summary: "all" })])
    const ids = async (query: HistoryQuery) => {
      const page = await store.history(run.id, query)
      return { ids: page.items.map((item) => item.message.id), more: page.more }
    }
    assert.deepEqual(await ids({ having: "compaction" }), { ids: [compaction, second], more: false })
    assert.deepEqual(await ids({ having: "compaction", limit: 1 }), { ids: [second], more: true })
    assert.deepEqual(await ids({ having: "compaction", to: 4 }), { ids: [compaction], more: false })
    assert.deepEqual(await ids({ having: "prune" }), { ids: [prune], more: false })
    const fork = await scene.fork(run.id, { messageID: second })
    const shared = await store.history(fork.id, { having: "compaction" })
    assert.deepEqual(
      shared.items.map((item) => item.message.id),
      [compaction],
    )
  }),

  promised("messages and parts that are read name their session and message", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const part = make.text("one")
    const messageID = await run.append([part])
    const fork = await scene.fork(run.id)
    for (const sessionID of [run.id, fork.id]) {
      const [item] = (await scene.store.history(sessionID)).items
      assert.equal(item?.message.sessionID, sessionID)
      assert.deepEqual(item?.parts, [{ ...part, sessionID, messageID }])
    }
  }),

  promised("an empty history is an empty page", async (scene) => {
    const run = await scene.session()
    assert.deepEqual(await scene.store.history(run.id), { items: [], count: 0, epoch: 0, more: false })
  }),

  promised("a history of thousands of messages reads the same from both ends", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const total = 2500
    const messages = Array.from({ length: total }, () => make.user())
    for (let from = 0; from < total; from += 500) {
      const batch = messages.slice(from, from + 500)
      await run.commit(
        ...batch.map((message) => ({
          op: "message.append" as const,
          sessionID: run.id,
          message,
          sealed: true,
        })),
      )
    }
    const last = await store.history(run.id, { limit: 1000 })
    assert.deepEqual([last.count, last.more, last.items[0]?.position], [total, true, 1500])
    const read: string[] = []
    for (let from = 0; read.length < total; from += 700) {
      const page = await store.history(run.id, { from, limit: 700, take: "start" })
      read.push(...page.items.map((item) => item.message.id))
    }
    assert.deepEqual(
      read,
      messages.map((message) => message.id),
    )
  }),
]
