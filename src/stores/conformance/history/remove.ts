import assert from "node:assert/strict"
import { failsWith, promised } from "../scene.ts"

export const removeCases = [
  promised("removing a session removes all its descendants", async (scene) => {
    const { store } = scene
    const root = await scene.session()
    const child = await scene.session({ parentID: root.id })
    const leaf = await scene.session({ parentID: child.id })
    const other = await scene.session()
    for (const run of [root, child, leaf, other]) await run.say("a")
    const removal = await store.remove(root.id)
    assert.deepEqual(removal, {
      sessions: [root.id, child.id, leaf.id],
      messages: 3,
      kept: { messages: 0, sessions: [] },
      blobs: 0,
    })
    assert.deepEqual(
      (await store.sessions()).items.map((session) => session.id),
      [other.id],
    )
    for (const { id } of [root, child, leaf]) await failsWith("not_found", store.session(id))
    await failsWith("not_found", store.remove(root.id))
  }),

  promised("a removed session can be neither read nor written", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const messageID = await run.say("a")
    await store.admit(make.prompt(run.id))
    await store.remove(run.id)
    const { id } = run
    const calls = [
      () => store.session(id),
      () => store.history(id),
      () => store.todos(id),
      () => store.permissions({ sessionID: id }),
      () => store.inbox(id),
      () => store.admit(make.prompt(id)),
      () => store.claim(id),
      () => store.renew(run.lease),
      () => store.redact({ sessionID: id }),
      () => run.say("b"),
      () => run.note(messageID, "summary", 1),
      () => scene.fork(id),
    ]
    for (const call of calls) await failsWith("not_found", call())
    await store.release(run.lease)
    assert.deepEqual((await store.search({ text: "a" })).hits, [])
  }),

  promised("messages that a fork shares stay, and the removal names the forks", async (scene) => {
    const { store } = scene
    const source = await scene.session()
    const ids = await source.sayAll("a", "b", "c")
    const fork = await scene.fork(source.id, { messageID: ids[2] })
    await fork.say("d")
    const removal = await store.remove(source.id)
    assert.equal(removal.messages, 1)
    assert.deepEqual(removal.kept, { messages: 2, sessions: [fork.id] })
    assert.deepEqual(await fork.texts(), ["a", "b", "d"])
    await fork.say("e")
    assert.deepEqual(await fork.texts(), ["a", "b", "d", "e"])
    const last = await store.remove(fork.id)
    assert.equal(last.messages, 4)
    assert.deepEqual(last.kept, { messages: 0, sessions: [] })
  }),

  promised("messages that only a left tail of another session reaches stay", async (scene) => {
    const { store } = scene
    const source = await scene.session()
    const ids = await source.sayAll("a", "b", "c")
    const fork = await scene.fork(source.id)
    const left = (await fork.info()).history.segment
    await fork.moveBefore(ids[1]!)
    const removal = await store.remove(source.id)
    assert.deepEqual([removal.messages, removal.kept.messages], [0, 3])
    assert.deepEqual(await fork.texts(left), ["a", "b", "c"])
    assert.equal((await store.remove(fork.id)).messages, 3)
  }),

  promised("a message that several removed sessions reach is counted once", async (scene) => {
    const { store } = scene
    const parent = await scene.session()
    await parent.sayAll("a", "b")
    const child = await scene.fork(parent.id, { fields: { parentID: parent.id } })
    await child.say("c")
    const outside = await scene.fork(child.id)
    const removal = await store.remove(parent.id)
    assert.deepEqual([removal.messages, removal.kept], [0, { messages: 3, sessions: [outside.id] }])
    assert.deepEqual(await outside.texts(), ["a", "b", "c"])
  }),

  promised("a removal names at most 20 sessions that keep messages, in order of creation", async (scene) => {
    const { store } = scene
    const source = await scene.session()
    await source.say("a")
    const forks: string[] = []
    for (let i = 0; i < 22; i++) forks.push((await scene.fork(source.id)).id)
    const { kept } = await store.remove(source.id)
    assert.deepEqual(kept, { messages: 1, sessions: forks.slice(0, 20) })
  }),

  promised("a blob is removed with the last message that refers to it", async (scene) => {
    const { store, make } = scene
    const shared = await store.blobs.put(Buffer.from("shared"))
    const own = await store.blobs.put(Buffer.from("own"))
    const loose = await store.blobs.put(Buffer.from("loose"))
    const source = await scene.session()
    await source.append([make.file(`blob:${shared}`)])
    const id = await source.append([make.file(`blob:${own}`), make.file(`blob:${shared}`)])
    const fork = await scene.fork(source.id, { messageID: id })
    assert.equal((await store.remove(source.id)).blobs, 1)
    await failsWith("not_found", store.blobs.get(own))
    assert.equal(Buffer.from(await store.blobs.get(shared)).toString(), "shared")
    assert.equal((await store.remove(fork.id)).blobs, 1)
    await failsWith("not_found", store.blobs.get(shared))
    assert.equal(await store.blobs.size(loose), 5)
  }),

  promised("a fork of a removed session can itself be forked, moved and searched", async (scene) => {
    const { store } = scene
    const source = await scene.session()
    const ids = await source.sayAll("apple", "banana")
    const fork = await scene.fork(source.id)
    await store.remove(source.id)
    assert.deepEqual(await (await scene.fork(fork.id, { messageID: ids[1] })).texts(), ["apple"])
    await fork.moveBefore(ids[1]!)
    await fork.say("cherry")
    assert.deepEqual(await fork.texts(), ["apple", "cherry"])
    const { hits } = await store.search({ text: "apple" })
    assert.deepEqual([hits[0]?.sessionID, hits[0]?.forks], [fork.id, 1])
  }),
]
