import assert from "node:assert/strict"
import { completed } from "../samples.ts"
import { failsWith, promised } from "../scene.ts"

export const forkCases = [
  promised("a fork has all sealed messages of its source, with their ids and positions", async (scene) => {
    const source = await scene.session()
    await source.sayAll("a", "b", "c")
    const fork = await scene.fork(source.id)
    const strip = (items: Awaited<ReturnType<typeof source.items>>) =>
      items.map(({ message: { sessionID: _s, ...message }, parts, ...rest }) => ({
        ...rest,
        message,
        parts: parts.map(({ sessionID: _p, ...part }) => part),
      }))
    assert.deepEqual(strip(await fork.items()), strip(await source.items()))
  }),

  promised("a fork at a message has the messages before it", async (scene) => {
    const source = await scene.session()
    const ids = await source.sayAll("a", "b", "c")
    assert.deepEqual(await (await scene.fork(source.id, { messageID: ids[2] })).texts(), ["a", "b"])
    const empty = await scene.fork(source.id, { messageID: ids[0] })
    assert.deepEqual(await empty.texts(), [])
    await empty.say("first")
    assert.deepEqual(await empty.texts(), ["first"])
    await failsWith("not_found", scene.fork(source.id, { messageID: scene.make.id("message") }))
    await failsWith("not_found", scene.fork(scene.make.id("session")))
  }),

  promised("a fork never has an open message", async (scene) => {
    const source = await scene.session()
    await source.say("a")
    const open = await source.begin(scene.make.text("b"))
    const fork = await scene.fork(source.id)
    const named = await scene.fork(source.id, { messageID: open })
    await source.seal(open)
    for (const run of [fork, named]) assert.deepEqual(await run.texts(), ["a"])
    await fork.say("c")
    assert.deepEqual(await fork.texts(), ["a", "c"])
    assert.deepEqual(await source.texts(), ["a", "b"])
  }),

  promised("a fork never has messages that a revert mark hides", async (scene) => {
    const source = await scene.session()
    const ids = await source.sayAll("a", "b", "c")
    await source.mark(ids[1]!)
    const fork = await scene.fork(source.id)
    assert.deepEqual(await fork.texts(), ["a"])
    assert.equal((await fork.info()).revert, undefined)
    assert.deepEqual(await (await scene.fork(source.id, { messageID: ids[2] })).texts(), ["a"])
    assert.deepEqual(await (await scene.fork(source.id, { messageID: ids[0] })).texts(), [])
  }),

  promised("messages appended to a fork or its source do not appear in the other", async (scene) => {
    const source = await scene.session()
    await source.sayAll("a", "b")
    const fork = await scene.fork(source.id)
    await source.say("of the source")
    await fork.say("of the fork")
    assert.deepEqual(await source.texts(), ["a", "b", "of the source"])
    assert.deepEqual(await fork.texts(), ["a", "b", "of the fork"])
    assert.equal((await fork.items())[2]?.position, 2)
  }),

  promised(
    "a fork inherits agent, model, permission, maxHistory, project and directory unless it names its own",
    async (scene) => {
      const permission = [{ permission: "edit", pattern: "*", action: "deny" as const }]
      const given = { agent: "build", model: { providerID: "p", modelID: "m" }, permission, maxHistory: 7 }
      const place = { projectID: "one", directory: "/one" }
      const source = await scene.session({ ...given, ...place, key: "k", title: "source", budget: 1 })
      await source.say("a")
      const messageID = await source.say("b")
      const inherited = await scene.fork(source.id, { messageID, fields: { title: "fork" } })
      const info = await inherited.info()
      const { agent, model, maxHistory, projectID, directory } = info
      assert.deepEqual({ agent, model, permission: info.permission, maxHistory }, given)
      assert.deepEqual({ projectID, directory }, place)
      assert.deepEqual(info.forkedFrom, { sessionID: source.id, messageID })
      assert.deepEqual(
        [info.title, info.parentID, info.key, info.budget],
        ["fork", undefined, undefined, undefined],
      )
      assert.deepEqual([info.history.count, info.history.epoch, info.history.left, info.seq], [1, 1, [], 1])
      const own = {
        agent: "plan",
        permission: [],
        maxHistory: 3,
        projectID: "two",
        directory: "/two",
        budget: 2,
      }
      const named = await (await scene.fork(source.id, { fields: own })).info()
      for (const [field, value] of Object.entries(own)) assert.deepEqual(named[field as "agent"], value)
      assert.deepEqual(named.forkedFrom, { sessionID: source.id })
    },
  ),

  promised(
    "a fork starts without cost, tokens, todos, permission requests, inbox items and revert mark",
    async (scene) => {
      const { store, make } = scene
      const source = await scene.session()
      const sessionID = source.id
      await source.say("a")
      const tokens = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } }
      await source.commit(
        { op: "session.patch", sessionID, add: { cost: 1, tokens } },
        {
          op: "todos.put",
          sessionID,
          todos: [{ id: "1", content: "x", status: "pending", priority: "low" }],
        },
        { op: "permission.put", request: make.permission(sessionID) },
      )
      await store.admit(make.prompt(sessionID))
      const fork = await scene.fork(sessionID)
      const info = await fork.info()
      assert.deepEqual([info.cost, info.tokens.input, info.revert], [0, 0, undefined])
      assert.deepEqual(await store.todos(fork.id), [])
      assert.deepEqual(await store.permissions({ sessionID: fork.id }), [])
      assert.deepEqual(await store.inbox(fork.id), [])
    },
  ),

  promised("a long chain of forks reads the right messages", async (scene) => {
    let run = await scene.session()
    const said: string[] = []
    for (let i = 0; i < 150; i++) {
      said.push(`${i}`)
      await run.say(`${i}`)
      if (i % 50 === 49) {
        await run.say("cut away")
        const [last] = (await scene.store.history(run.id, { limit: 1 })).items
        run = await scene.fork(run.id, { messageID: last!.message.id })
      } else {
        run = await scene.fork(run.id)
      }
    }
    assert.deepEqual(await run.texts(), said)
    const page = await scene.store.history(run.id, { from: 60, to: 64 })
    assert.deepEqual(
      page.items.map((item) => item.position),
      [60, 61, 62, 63],
    )
    const early = await scene.fork(run.id, { messageID: page.items[0]!.message.id })
    await early.say("other")
    assert.deepEqual(await early.texts(), [...said.slice(0, 60), "other"])
    assert.deepEqual(await run.texts(), said)
  }),

  promised("a fork may end in a truncated copy of the message that it was made at", async (scene) => {
    const { store, make } = scene
    const source = await scene.session()
    const [, messageID] = await source.sayAll("a", "b and more", "c")
    const session = make.session()
    const tail = { message: make.user(), parts: [make.text("b")] }
    const fork = {
      op: "session.fork" as const,
      sourceID: source.id,
      messageID,
      session,
      segment: make.id("segment"),
    }
    await failsWith(
      "invalid",
      store.commit({ ops: [{ ...fork, tail: { ...tail, parts: [tail.parts[0]!, tail.parts[0]!] } }] }),
    )
    await store.commit({ ops: [{ ...fork, tail }] })
    const run = await scene.run(session.id)
    const items = await run.items()
    assert.deepEqual(await run.texts(), ["a", "b"])
    assert.deepEqual([items[1]?.position, items[1]?.sealed, items[1]?.message.id], [1, true, tail.message.id])
    await run.say("d")
    assert.deepEqual(await run.texts(), ["a", "b", "d"])
  }),

  promised("a session may be created, written and forked in one commit", async (scene) => {
    const { store, make } = scene
    const [source, fork] = [make.session(), make.session()]
    const parts = [make.text("a"), make.tool(completed)]
    await store.commit({
      ops: [
        { op: "session.create", session: source, segment: make.id("segment") },
        { op: "message.append", sessionID: source.id, message: make.user(), parts, sealed: true },
        { op: "session.fork", sourceID: source.id, session: fork, segment: make.id("segment") },
        {
          op: "message.append",
          sessionID: fork.id,
          message: make.user(),
          parts: [make.text("b")],
          sealed: true,
        },
      ],
    })
    assert.deepEqual(await (await scene.run(fork.id)).texts(), ["a", "b"])
    assert.deepEqual(await (await scene.run(source.id)).texts(), ["a"])
  }),

  promised("a fork may be a child, and its key must be free", async (scene) => {
    const source = await scene.session({ key: "k", agent: "build" })
    const parent = await scene.session()
    const child = await scene.fork(source.id, { fields: { parentID: parent.id } })
    assert.equal((await child.info()).parentID, parent.id)
    await failsWith("conflict", scene.fork(source.id, { fields: { key: "k" } }))
    await failsWith("not_found", scene.fork(source.id, { fields: { parentID: scene.make.id("session") } }))
  }),

  promised("a fork does not change its source", async (scene) => {
    const source = await scene.session()
    await source.say("a")
    const before = await source.info()
    const cursor = await scene.store.cursor()
    await scene.fork(source.id)
    assert.deepEqual(await source.info(), before)
    assert.deepEqual(await scene.rows({ sessionID: source.id }, cursor), [])
  }),
]
