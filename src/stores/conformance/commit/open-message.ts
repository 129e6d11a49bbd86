import assert from "node:assert/strict"
import type { Op } from "../../commit.ts"
import { completed, failed, pending, running } from "../samples.ts"
import { failsWith, promised } from "../scene.ts"

export const openMessageCases = [
  promised("messages have positions from 0 in the order of their appends", async (scene) => {
    const run = await scene.session()
    const ids = await run.sayAll("a", "b", "c")
    const items = await run.items()
    assert.deepEqual(
      items.map((item) => [item.position, item.message.id, item.sealed]),
      ids.map((id, position) => [position, id, true]),
    )
    assert.equal((await run.info()).history.count, 3)
  }),

  promised("a message cannot be appended while the message before it is open", async (scene) => {
    const run = await scene.session()
    const messageID = await run.begin()
    await failsWith("conflict", run.say("too early"))
    await run.seal(messageID)
    await run.say("now")
    assert.equal((await run.items()).length, 2)
  }),

  promised("a message id occurs once in a history, including messages that a fork shares", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const id = await run.say("one")
    const again = (sessionID: string): Op => ({
      op: "message.append",
      sessionID,
      message: make.user({ id }),
      sealed: true,
    })
    await failsWith("conflict", run.commit(again(run.id)))
    const fork = await scene.fork(run.id)
    await failsWith("conflict", fork.commit(again(fork.id)))
  }),

  promised("a message with two parts with the same id is refused", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const part = make.text("twice")
    await failsWith("invalid", run.append([part, part]))
  }),

  promised(
    "pieces extend a text while the message is open, and the text stays after sealing",
    async (scene) => {
      const { make } = scene
      const run = await scene.session()
      const part = make.text("He")
      const messageID = await run.begin(part)
      await run.grow(messageID, { partID: part.id, offset: 2, text: "llo" })
      assert.deepEqual(await run.texts(), ["Hello"])
      await run.grow(messageID, { partID: part.id, offset: 5, text: " 👋" })
      await run.grow(messageID, { partID: part.id, offset: 8, text: "!" })
      assert.deepEqual(await run.texts(), ["Hello 👋!"])
      await run.seal(messageID)
      assert.deepEqual(await run.texts(), ["Hello 👋!"])
    },
  ),

  promised(
    "a piece that does not begin at the end of the text is refused, and the error has the length",
    async (scene) => {
      const { make } = scene
      const run = await scene.session()
      const part = make.text("abc")
      const messageID = await run.begin(part)
      for (const offset of [0, 2, 4]) {
        const error = await failsWith("conflict", run.grow(messageID, { partID: part.id, offset, text: "x" }))
        assert.equal(error.details?.length, 3)
      }
      assert.deepEqual(await run.texts(), ["abc"])
    },
  ),

  promised("an empty piece changes nothing but counts as a commit", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const part = make.text("abc")
    const messageID = await run.begin(part)
    const cursor = await scene.store.cursor()
    const { seq } = await run.info()
    await run.grow(messageID, { partID: part.id, offset: 3, text: "" })
    assert.equal((await run.info()).seq, seq + 1)
    assert.deepEqual(await scene.rows({ sessionID: run.id }, cursor), [])
    await failsWith("conflict", run.grow(messageID, { partID: part.id, offset: 2, text: "" }))
  }),

  promised("a piece needs a part that exists and a field that grows", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const call = make.tool(pending)
    const file = make.file("https://example.org/a")
    const messageID = await run.begin(call, file)
    const piece = { offset: 0, text: "x" }
    await failsWith("not_found", run.grow(messageID, { ...piece, partID: make.id("part") }))
    await failsWith("invalid", run.grow(messageID, { ...piece, partID: call.id, field: "output" }))
    await failsWith("invalid", run.grow(messageID, { ...piece, partID: call.id, field: "text" }))
    await failsWith("invalid", run.grow(messageID, { ...piece, partID: file.id }))
  }),

  promised("the input of a pending tool call and the output of a running tool call grow", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const call = make.tool(pending)
    const messageID = await run.begin(call)
    await run.grow(messageID, { partID: call.id, field: "raw", offset: 0, text: '{"command":' })
    await run.grow(messageID, { partID: call.id, field: "raw", offset: 11, text: '"ls"}' })
    const state = async () => {
      const part = (await run.items())[0]?.parts[0]
      return part?.type === "tool" ? part.state : undefined
    }
    assert.deepEqual(await state(), { ...pending, raw: '{"command":"ls"}' })
    await run.put(messageID, { ...call, state: running })
    assert.deepEqual(await state(), running)
    await run.grow(messageID, { partID: call.id, field: "output", offset: 0, text: "a" })
    await run.grow(messageID, { partID: call.id, field: "output", offset: 1, text: ".txt" })
    assert.deepEqual(await state(), { ...running, output: "a.txt" })
    await run.put(messageID, { ...call, state: completed })
    assert.deepEqual(await state(), completed)
    await run.seal(messageID)
    assert.deepEqual(await state(), completed)
  }),

  promised("a part with a known id is replaced at its index, and a new part is appended", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const [a, b, c] = [make.text("a"), make.text("b"), make.text("c")]
    const messageID = await run.begin(a, b)
    await run.put(messageID, c)
    await run.put(messageID, { ...a, text: "A", synthetic: true })
    const [item] = await run.items()
    assert.deepEqual(
      item?.parts.map((part) => (part.type === "text" ? [part.id, part.text] : [])),
      [
        [a.id, "A"],
        [b.id, "b"],
        [c.id, "c"],
      ],
    )
    await failsWith("invalid", run.put(messageID, { ...make.reasoning("a"), id: a.id }))
  }),

  promised("putting a part replaces grown text, except with grown: keep", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const part = make.text("ab")
    const messageID = await run.begin(part)
    const grow = (offset: number, text: string) => run.grow(messageID, { partID: part.id, offset, text })
    await grow(2, "cd")
    await run.put(messageID, { ...part, text: "", metadata: { kept: true } }, { grown: "keep" })
    assert.deepEqual(await run.texts(), ["abcd"])
    const [item] = await run.items()
    assert.deepEqual(item?.parts[0]?.type === "text" && item.parts[0].metadata, { kept: true })
    await grow(4, "ef")
    assert.deepEqual(await run.texts(), ["abcdef"])
    await failsWith("invalid", run.put(messageID, { ...part, text: "x" }, { grown: "keep" }))
    await run.put(messageID, { ...part, text: "new" })
    assert.deepEqual(await run.texts(), ["new"])
    await grow(3, "er")
    await run.seal(messageID)
    assert.deepEqual(await run.texts(), ["newer"])
  }),

  promised("grown text is not kept when the new state has no field for it", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const call = make.tool(pending)
    const messageID = await run.begin(call)
    await run.put(messageID, { ...call, state: pending }, { grown: "keep" })
    await run.grow(messageID, { partID: call.id, field: "raw", offset: 0, text: "{}" })
    await failsWith("invalid", run.put(messageID, { ...call, state: running }, { grown: "keep" }))
    await failsWith("invalid", run.put(messageID, { ...call, state: completed }, { grown: "keep" }))
    await run.put(messageID, { ...call, state: running })
    await run.grow(messageID, { partID: call.id, field: "output", offset: 0, text: "out" })
    await run.put(messageID, { ...call, state: { ...running, title: "ls" } }, { grown: "keep" })
    const part = (await run.items())[0]?.parts[0]
    assert.deepEqual(part?.type === "tool" && part.state, { ...running, title: "ls", output: "out" })
  }),

  promised("a tool call goes from pending to running to one result, and never back", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const call = make.tool(running)
    const messageID = await run.begin(call)
    await failsWith("invalid", run.put(messageID, { ...call, state: pending }))
    await run.put(messageID, { ...call, state: failed })
    await failsWith("invalid", run.put(messageID, { ...call, state: running }))
    await failsWith("invalid", run.put(messageID, { ...call, state: completed }))
    const part = (await run.items())[0]?.parts[0]
    assert.deepEqual(part?.type === "tool" && part.state, failed)
  }),

  promised("a message is not sealed while a tool call has no result", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    await failsWith("invalid", run.append([make.tool(pending)]))
    const call = make.tool(running)
    const messageID = await run.begin(call)
    await failsWith("invalid", run.seal(messageID))
    await run.put(messageID, { ...call, state: completed })
    await run.seal(messageID)
    assert.equal((await run.items())[0]?.sealed, true)
  }),

  promised("truncating removes the parts from an index on", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const [a, b, c] = [make.text("a"), make.text("b"), make.text("c")]
    const messageID = await run.begin(a, b, c)
    const truncate = (keep: number) => run.commit({ op: "part.truncate", sessionID: run.id, messageID, keep })
    const ids = async () => (await run.items())[0]?.parts.map((part) => part.id)
    await run.grow(messageID, { partID: c.id, offset: 1, text: "c" })
    await truncate(5)
    assert.deepEqual(await ids(), [a.id, b.id, c.id])
    await truncate(1)
    assert.deepEqual(await ids(), [a.id])
    await failsWith("not_found", run.grow(messageID, { partID: c.id, offset: 2, text: "c" }))
    await run.put(messageID, { ...c, text: "again" })
    assert.deepEqual(await ids(), [a.id, c.id])
    await truncate(0)
    await run.seal(messageID)
    assert.deepEqual(await ids(), [])
  }),

  promised("the fields of the open message can be replaced, but not its id and role", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const message = make.assistant()
    const sessionID = run.id
    await run.commit({ op: "message.append", sessionID, message, parts: [make.text("x")] })
    await run.commit({ op: "message.put", sessionID, message: { ...message, cost: 0.5, finish: "stop" } })
    const [open] = await run.items()
    assert.deepEqual(open?.message, { ...message, cost: 0.5, finish: "stop", sessionID })
    await failsWith(
      "invalid",
      run.commit({ op: "message.put", sessionID, message: make.user({ id: message.id }) }),
    )
    const seal = { op: "message.seal" as const, sessionID, messageID: message.id }
    await failsWith("invalid", run.commit({ ...seal, message: make.assistant() }))
    const last = { ...message, cost: 1, time: { created: 1, completed: 2 } }
    await run.commit({ ...seal, message: last })
    const [sealed] = await run.items()
    assert.deepEqual(sealed?.message, { ...last, sessionID })
    assert.equal(sealed?.sealed, true)
  }),

  promised("a sealed message never changes", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const part = make.text("done")
    const messageID = await run.append([part])
    const before = await run.items()
    const place = { sessionID: run.id, messageID }
    const ops: Op[] = [
      { op: "message.put", sessionID: run.id, message: make.user({ id: messageID }) },
      { op: "part.put", ...place, part: { ...part, text: "new" } },
      { op: "part.put", ...place, part: make.text("new") },
      { op: "part.truncate", ...place, keep: 0 },
      { op: "piece.add", ...place, partID: part.id, field: "text", offset: 4, text: "!" },
      { op: "message.seal", ...place },
    ]
    for (const op of ops) await failsWith("invalid", run.commit(op))
    await run.begin()
    for (const op of ops) await failsWith("invalid", run.commit(op))
    assert.deepEqual((await run.items()).slice(0, 1), before)
  }),

  promised("an operation on a message that is not in the history fails with not_found", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    await run.begin()
    const place = { sessionID: run.id, messageID: make.id("message") }
    const ops: Op[] = [
      { op: "message.put", sessionID: run.id, message: make.assistant() },
      { op: "part.put", ...place, part: make.text("x") },
      { op: "part.truncate", ...place, keep: 0 },
      { op: "piece.add", ...place, partID: make.id("part"), field: "text", offset: 0, text: "x" },
      { op: "message.seal", ...place },
      { op: "note.put", ...place, key: "summary", value: "x" },
    ]
    for (const op of ops) await failsWith("not_found", run.commit(op))
  }),
]
