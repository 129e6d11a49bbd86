import assert from "node:assert/strict"
import { failsWith, promised } from "../scene.ts"

export const revertCases = [
  promised(
    "a session with a revert mark can be read, refuses new messages, and the mark can be cleared",
    async (scene) => {
      const { store } = scene
      const run = await scene.session()
      const ids = await run.sayAll("a", "b")
      const mark = { messageID: ids[1]!, snapshot: "tree", diff: "-b" }
      await store.commit({ ops: [{ op: "session.patch", sessionID: run.id, set: { revert: mark } }] })
      assert.deepEqual((await run.info()).revert, mark)
      assert.deepEqual(await run.texts(), ["a", "b"])
      await failsWith("invalid", run.say("c"))
      await store.commit({ ops: [{ op: "session.patch", sessionID: run.id, set: { revert: null } }] })
      await run.say("c")
      assert.deepEqual(await run.texts(), ["a", "b", "c"])
      const info = await run.info()
      assert.ok(!("revert" in info))
      assert.equal(info.history.epoch, 0)
    },
  ),

  promised("a revert mark must name a message, and a part of it, that the history has", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const part = make.text("a")
    const messageID = await run.append([part])
    const mark = (revert: { messageID: string; partID?: string }) =>
      store.commit({ ops: [{ op: "session.patch", sessionID: run.id, set: { revert } }] })
    await failsWith("not_found", mark({ messageID: make.id("message") }))
    await failsWith("not_found", mark({ messageID, partID: make.id("part") }))
    await mark({ messageID, partID: part.id })
  }),

  promised("making a revert real moves the history and keeps the left tail", async (scene) => {
    const run = await scene.session()
    const ids = await run.sayAll("a", "b", "c")
    await run.mark(ids[1]!)
    const before = (await run.info()).history
    const segment = await run.moveBefore(ids[1]!)
    const info = await run.info()
    assert.ok(!("revert" in info))
    const left = [{ segment: before.segment, keep: 1, count: 3 }]
    assert.deepEqual(info.history, { segment, count: 1, epoch: 1, left })
    assert.deepEqual(await run.texts(), ["a"])
    await run.sayAll("d", "e", "f")
    assert.deepEqual(await run.texts(), ["a", "d", "e", "f"])
    assert.deepEqual(
      (await run.items()).map((item) => item.position),
      [0, 1, 2, 3],
    )
    assert.deepEqual(await run.texts(before.segment), ["a", "b", "c"])
    const tail = await scene.store.history(run.id, { left: before.segment, limit: 1 })
    assert.deepEqual([tail.count, tail.more, tail.items[0]?.position], [3, true, 2])
  }),

  promised("a left tail can be forked, whole or at a message of it", async (scene) => {
    const run = await scene.session()
    const ids = await run.sayAll("a", "b", "c")
    const left = (await run.info()).history.segment
    await run.moveBefore(ids[1]!)
    await run.say("d")
    const whole = await scene.fork(run.id, { left })
    assert.deepEqual(await whole.texts(), ["a", "b", "c"])
    await whole.say("x")
    assert.deepEqual(await whole.texts(), ["a", "b", "c", "x"])
    assert.deepEqual(await (await scene.fork(run.id, { left, messageID: ids[2] })).texts(), ["a", "b"])
    assert.deepEqual(await run.texts(left), ["a", "b", "c"])
    await failsWith("not_found", scene.fork(run.id, { left: scene.make.id("segment") }))
    await failsWith("not_found", scene.fork(run.id, { messageID: ids[2] }))
    await failsWith("not_found", scene.store.history(run.id, { left: scene.make.id("segment") }))
    await failsWith("not_found", scene.store.history(run.id, { messageID: ids[2] }))
  }),

  promised("a revert mark in the present history does not hide messages of a left tail", async (scene) => {
    const run = await scene.session()
    const ids = await run.sayAll("a", "b", "c")
    const left = (await run.info()).history.segment
    await run.moveBefore(ids[2]!)
    await run.mark(ids[0]!)
    assert.deepEqual(await (await scene.fork(run.id, { left })).texts(), ["a", "b", "c"])
  }),

  promised("a revert at a part ends in a truncated copy with new ids", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const ids = await run.sayAll("a", "b and more")
    const tail = { message: make.user(), parts: [make.text("b")] }
    const segment = make.id("segment")
    await run.commit({ op: "history.move", sessionID: run.id, segment, messageID: ids[1]!, tail })
    const items = await run.items()
    assert.deepEqual(await run.texts(), ["a", "b"])
    assert.deepEqual([items[1]?.message.id, items[1]?.sealed, items[1]?.position], [tail.message.id, true, 1])
    assert.equal((await run.info()).history.count, 2)
  }),

  promised("a session can be moved back several times, also to its beginning", async (scene) => {
    const run = await scene.session()
    const segments = [(await run.info()).history.segment]
    const ids = await run.sayAll("a", "b", "c")
    segments.push(await run.moveBefore(ids[2]!))
    await run.say("d")
    segments.push(await run.moveBefore(ids[1]!))
    await run.say("e")
    segments.push(await run.moveBefore(ids[0]!))
    assert.deepEqual(await run.texts(), [])
    const { history } = await run.info()
    assert.deepEqual(history, {
      segment: segments[3],
      count: 0,
      epoch: 3,
      left: [
        { segment: segments[0], keep: 2, count: 3 },
        { segment: segments[1], keep: 1, count: 3 },
        { segment: segments[2], keep: 0, count: 2 },
      ],
    })
    await run.say("f")
    assert.deepEqual(await run.texts(), ["f"])
    assert.deepEqual(await run.texts(segments[0]), ["a", "b", "c"])
    assert.deepEqual(await run.texts(segments[1]), ["a", "b", "d"])
    assert.deepEqual(await run.texts(segments[2]), ["a", "e"])
  }),

  promised(
    "a fork can be moved back into the messages that it shares without changing its source",
    async (scene) => {
      const source = await scene.session()
      const ids = await source.sayAll("a", "b", "c")
      const fork = await scene.fork(source.id)
      await fork.say("d")
      const left = (await fork.info()).history.segment
      await fork.moveBefore(ids[1]!)
      await fork.say("e")
      assert.deepEqual(await fork.texts(), ["a", "e"])
      assert.deepEqual(await fork.texts(left), ["a", "b", "c", "d"])
      assert.deepEqual(await source.texts(), ["a", "b", "c"])
      assert.equal((await fork.info()).history.epoch, 2)
    },
  ),

  promised(
    "a history cannot be moved while a message is open, or to a message that it does not have",
    async (scene) => {
      const run = await scene.session()
      const id = await run.say("a")
      await failsWith("not_found", run.moveBefore(scene.make.id("message")))
      const open = await run.begin()
      await failsWith("invalid", run.moveBefore(id))
      await failsWith("invalid", run.moveBefore(open))
      assert.equal((await run.info()).history.epoch, 0)
    },
  ),
]
