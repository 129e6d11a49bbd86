import assert from "node:assert/strict"
import type { Op } from "../../commit.ts"
import { failsWith, promised } from "../scene.ts"

export const commitCases = [
  promised(
    "a commit is all or none: the operations before a failing operation have no effect",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session({ title: "before", key: "old" })
      const messageID = await run.say("one")
      const cursor = await store.cursor()
      const before = { info: await run.info(), items: await run.items() }
      const other = make.session({ key: "new" })
      const sessionID = run.id
      const ops: Op[] = [
        { op: "session.create", session: other, segment: make.id("segment") },
        { op: "session.patch", sessionID, set: { title: "after", key: "newer" }, add: { cost: 1 } },
        { op: "note.put", sessionID, messageID, key: "summary", value: "short" },
        {
          op: "todos.put",
          sessionID,
          todos: [{ id: "1", content: "x", status: "pending", priority: "low" }],
        },
        { op: "permission.put", request: make.permission(sessionID) },
        { op: "message.append", sessionID, message: make.user(), parts: [make.text("two")], sealed: true },
        { op: "history.move", sessionID, segment: make.id("segment"), messageID },
        { op: "session.fork", sourceID: sessionID, session: make.session(), segment: make.id("segment") },
        { op: "note.put", sessionID, messageID: make.id("message"), key: "summary", value: 1 },
      ]
      await failsWith("not_found", run.commit(...ops))

      assert.deepEqual({ info: await run.info(), items: await run.items() }, before)
      assert.equal(await store.cursor(), cursor)
      assert.deepEqual(await store.todos(sessionID), [])
      assert.deepEqual(await store.permissions({ sessionID }), [])
      assert.equal((await store.sessions()).items.length, 1)
      assert.deepEqual(await scene.rows({ directory: "/work" }, cursor), [])
      await scene.session({ key: "new" })
      await run.say("two")
      assert.deepEqual(await run.texts(), ["one", "two"])
    },
  ),

  promised("a failed commit leaves the open message unchanged", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const part = make.text("ab")
    const messageID = await run.begin(part)
    await run.grow(messageID, { partID: part.id, offset: 2, text: "cd" })
    const before = await run.items()
    const sessionID = run.id
    const seal: Op = { op: "message.seal", sessionID, messageID }
    await failsWith(
      "invalid",
      run.commit(
        { op: "piece.add", sessionID, messageID, partID: part.id, field: "text", offset: 4, text: "ef" },
        { op: "part.put", sessionID, messageID, part: make.reasoning("hm") },
        { op: "part.put", sessionID, messageID, part: { ...part, text: "other" } },
        { op: "part.truncate", sessionID, messageID, keep: 1 },
        seal,
        seal,
      ),
    )
    assert.deepEqual(await run.items(), before)
    await run.grow(messageID, { partID: part.id, offset: 4, text: "!" })
    assert.deepEqual(await run.texts(), ["abcd!"])
  }),

  promised(
    "each commit increments the version, and the seq of every session that it changes",
    async (scene) => {
      const { store } = scene
      const first = await scene.session()
      const second = await scene.session()
      assert.equal((await first.info()).seq, 1)
      const patch = (sessionID: string): Op => ({ op: "session.patch", sessionID, set: { title: "new" } })
      const one = await store.commit({ ops: [patch(first.id), patch(first.id)] })
      const both = await store.commit({ ops: [patch(first.id), patch(second.id)] })
      assert.deepEqual(one.seq, { [first.id]: 2 })
      assert.deepEqual(both.seq, { [first.id]: 3, [second.id]: 2 })
      assert.equal(both.version, one.version + 1)
      assert.equal((await first.info()).seq, 3)
      assert.equal(both.cursor, await store.cursor())
    },
  ),

  promised(
    "one commit may change a parent's part, create a child and append the child's first message",
    async (scene) => {
      const { store, make } = scene
      const parent = await scene.session()
      const messageID = await parent.begin()
      const child = make.session({ parentID: parent.id })
      await parent.commit(
        { op: "session.create", session: child, segment: make.id("segment") },
        { op: "part.put", sessionID: parent.id, messageID, part: make.text("asked a subagent") },
        {
          op: "message.append",
          sessionID: child.id,
          message: make.user(),
          parts: [make.text("go")],
          sealed: true,
        },
      )
      assert.deepEqual(await parent.texts(), ["asked a subagent"])
      assert.deepEqual(await (await scene.run(child.id)).texts(), ["go"])
      assert.equal((await store.session(child.id)).parentID, parent.id)
    },
  ),

  promised("a commit with expectSeq fails if another commit changed the session", async (scene) => {
    const { store } = scene
    const run = await scene.session()
    const sessionID = run.id
    const ops: Op[] = [{ op: "session.patch", sessionID, set: { title: "mine" } }]
    const { seq } = await run.info()
    await store.commit({ ops, expectSeq: { [sessionID]: seq } })
    const error = await failsWith("conflict", store.commit({ ops, expectSeq: { [sessionID]: seq } }))
    assert.equal(error.details?.seq, seq + 1)
    await failsWith("not_found", store.commit({ ops, expectSeq: { [scene.make.id("session")]: 1 } }))
  }),

  promised("changing an object after passing it to the store does not change the store", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const part = { ...make.text("as given"), metadata: { list: [1] } }
    const op = {
      op: "message.append" as const,
      sessionID: run.id,
      message: make.user(),
      parts: [part],
      sealed: true,
    }
    const done = run.commit(op)
    part.text = "changed"
    part.metadata.list.push(2)
    op.message.agent = "changed"
    await done
    const [item] = await run.items()
    assert.equal(item?.message.agent, "build")
    assert.deepEqual(item?.parts[0], {
      ...part,
      text: "as given",
      metadata: { list: [1] },
      sessionID: run.id,
      messageID: op.message.id,
    })
    const prompt = make.prompt(run.id, "as given")
    const admitted = store.admit(prompt)
    prompt.delivery = "queue"
    await admitted
    assert.deepEqual(await store.inbox(run.id), [{ ...prompt, delivery: "steer" }])
  }),

  promised("changing an object that the store returned does not change the store", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    await run.append([{ ...make.text("kept"), metadata: { list: [1] } }])
    await store.commit({ ops: [{ op: "permission.put", request: make.permission(run.id) }] })
    const read = async () => ({
      info: await run.info(),
      items: await run.items(),
      rows: await scene.rows({ sessionID: run.id }),
      permissions: await store.permissions({ sessionID: run.id }),
    })
    const before = structuredClone(await read())
    spoil(await read())
    assert.deepEqual(await read(), before)
  }),

  promised("cost and tokens are added up, and decimal costs are exact", async (scene) => {
    const { store } = scene
    const run = await scene.session()
    const tokens = { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } }
    for (const cost of [0.1, 0.2, 0.000_001, 1e-9]) {
      await store.commit({ ops: [{ op: "session.patch", sessionID: run.id, add: { cost, tokens } }] })
    }
    await store.commit({ ops: [{ op: "session.patch", sessionID: run.id, add: { cost: 0.7 } }] })
    const info = await run.info()
    assert.equal(info.cost, 1.000_001_001)
    assert.deepEqual(info.tokens, { input: 4, output: 8, reasoning: 12, cache: { read: 16, write: 20 } })
  }),

  promised("session fields are set one by one, and null removes an optional field", async (scene) => {
    const { store } = scene
    const run = await scene.session({ agent: "build", maxHistory: 10 })
    const patch = (set: (Op & { op: "session.patch" })["set"]) =>
      store.commit({ ops: [{ op: "session.patch", sessionID: run.id, set }] })
    const model = { providerID: "p", modelID: "m" }
    const permission = [{ permission: "edit", pattern: "*", action: "ask" as const }]
    await patch({ title: "new", model, permission, budget: 2, share: { url: "https://example.org/1" } })
    await patch({ summary: { additions: 1, deletions: 2, files: 1 }, time: { compacting: 5, archived: 6 } })
    const full = await run.info()
    assert.equal(full.title, "new")
    assert.deepEqual([full.model, full.permission, full.budget], [model, permission, 2])
    assert.deepEqual([full.agent, full.maxHistory], ["build", 10])
    assert.deepEqual([full.time.compacting, full.time.archived], [5, 6])
    await patch({ agent: null, model: null, permission: null, budget: null, share: null, summary: null })
    await patch({ maxHistory: null, time: { compacting: null, archived: null, updated: 7 } })
    const bare = await run.info()
    for (const field of ["agent", "model", "permission", "budget", "share", "summary", "maxHistory"]) {
      assert.ok(!(field in bare), `${field} is gone`)
    }
    assert.deepEqual(bare.time, { created: full.time.created, updated: 7 })
    assert.equal(bare.title, "new")
  }),

  promised("two sessions of an agent cannot have the same key", async (scene) => {
    const { store, make } = scene
    const key = "telegram:group:-100123"
    const owner = await scene.session({ agent: "build", key })
    const create = (fields: object) =>
      store.commit({
        ops: [{ op: "session.create", session: make.session(fields), segment: make.id("segment") }],
      })
    const error = await failsWith("conflict", create({ agent: "build", key }))
    assert.equal(error.details?.sessionID, owner.id)
    await create({ agent: "plan", key })
    await create({ key })
    await failsWith("conflict", create({ key }))
    const other = await scene.session({ agent: "build", key: "other" })
    const setKey = (value: string | null) =>
      store.commit({ ops: [{ op: "session.patch", sessionID: other.id, set: { key: value } }] })
    await failsWith("conflict", setKey(key))
    await failsWith(
      "conflict",
      store.commit({ ops: [{ op: "session.patch", sessionID: owner.id, set: { agent: "plan" } }] }),
    )
    await store.remove(owner.id)
    await setKey(key)
    await setKey(key)
    await failsWith("conflict", create({ agent: "build", key }))
    await create({ agent: "build", key: "other" })
    await setKey(null)
    await create({ agent: "build", key })
  }),

  promised("a session id is used once, even if the session was removed", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const again = () =>
      store.commit({
        ops: [{ op: "session.create", session: make.session({ id: run.id }), segment: make.id("segment") }],
      })
    await failsWith("conflict", again())
    await store.remove(run.id)
    await failsWith("conflict", again())
  }),

  promised("a segment id is used once", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const messageID = await run.say("one")
    const { segment } = (await run.info()).history
    const session = make.session()
    await failsWith("conflict", store.commit({ ops: [{ op: "session.create", session, segment }] }))
    await failsWith(
      "conflict",
      store.commit({ ops: [{ op: "session.fork", sourceID: run.id, session, segment }] }),
    )
    await failsWith("conflict", run.commit({ op: "history.move", sessionID: run.id, segment, messageID }))
  }),

  promised("a child needs a parent that exists", async (scene) => {
    const { store, make } = scene
    const session = make.session({ parentID: make.id("session") })
    await failsWith(
      "not_found",
      store.commit({ ops: [{ op: "session.create", session, segment: make.id("segment") }] }),
    )
  }),

  promised("a new session starts empty: no cost, no tokens, no messages, epoch 0, seq 1", async (scene) => {
    const { store, make } = scene
    const session = make.session({ agent: "build", budget: 3, share: { url: "https://example.org" } })
    const segment = make.id("segment")
    const { seq } = await store.commit({ ops: [{ op: "session.create", session, segment }] })
    assert.deepEqual(seq, { [session.id]: 1 })
    assert.deepEqual(await store.session(session.id), {
      ...session,
      cost: 0,
      tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
      history: { segment, count: 0, epoch: 0, left: [] },
      seq: 1,
    })
  }),

  promised(
    "time.updated follows new messages, never goes backward by a message, and can be set",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session({ time: { created: 1000, updated: 1000 } })
      const sessionID = run.id
      const updated = async () => (await run.info()).time.updated
      const append = (created: number) =>
        run.commit({
          op: "message.append",
          sessionID,
          message: make.user({ time: { created } }),
          sealed: true,
        })
      await append(3000)
      assert.equal(await updated(), 3000)
      await append(2000)
      assert.equal(await updated(), 3000)
      const message = make.assistant({ time: { created: 2500, completed: 4000 } })
      await run.commit({ op: "message.append", sessionID, message })
      assert.equal(await updated(), 3000)
      await run.seal(message.id)
      assert.equal(await updated(), 4000)
      const brief = make.assistant({ time: { created: 2600 } })
      await run.commit({ op: "message.append", sessionID, message: brief })
      await run.seal(brief.id)
      await store.commit({ ops: [{ op: "session.patch", sessionID, set: { title: "new" } }] })
      await run.note(message.id, "summary", "x")
      assert.equal(await updated(), 4000)
      await store.commit({ ops: [{ op: "session.patch", sessionID, set: { time: { updated: 10 } } }] })
      assert.equal(await updated(), 10)
    },
  ),
]

/** Changes every field of a value that can be changed. */
function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return
  for (const inner of Object.values(value)) spoil(inner)
  if (Array.isArray(value)) value.push("spoilt")
  else Object.assign(value, { spoilt: true, title: "spoilt", text: "spoilt" })
}
