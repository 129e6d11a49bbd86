import assert from "node:assert/strict"
import { redacted } from "../../../session/history/redact.ts"
import { titleFromText } from "../../../session/prompt/title.ts"
import { currentHolder } from "../../holder.ts"
import { completed } from "../samples.ts"
import { failsWith, promised } from "../scene.ts"

export const redactCases = [
  promised("redacting a part removes its content in every session that shares it", async (scene) => {
    const { store, make } = scene
    const source = await scene.session()
    await source.say("first")
    const [secret, other] = [make.text("the secret"), make.text("the rest")]
    const messageID = await source.append([secret, other])
    const fork = await scene.fork(source.id)
    const without = await scene.fork(source.id, { messageID })
    const before = await source.items()
    const redaction = await store.redact({ sessionID: fork.id, messageID, partID: secret.id })
    assert.deepEqual(redaction, { messages: 1, parts: 1, sessions: [source.id, fork.id] })
    for (const run of [source, fork]) {
      const items = await run.items()
      assert.equal(JSON.stringify(items).includes("the secret"), false)
      assert.deepEqual(
        items[1]?.parts.map((part) => part.id),
        [secret.id, other.id],
      )
      assert.equal(items[1]?.parts[1]?.type === "text" && items[1].parts[1].text, "the rest")
      assert.equal(items[1]?.version, before[1]?.version)
      assert.deepEqual(
        items.map((item) => item.position),
        [0, 1],
      )
    }
    assert.deepEqual(await without.texts(), ["first"])
    assert.equal((await without.info()).history.epoch, 1)
  }),

  promised("redacting a message removes the content of all its parts and the notes on it", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const id = await run.append([
      make.text("secret text"),
      make.tool({ ...completed, output: "secret output" }),
    ])
    const kept = await run.say("kept")
    await run.note(id, "summary", "secret note")
    await run.note(kept, "summary", "kept note")
    const redaction = await store.redact({ sessionID: run.id, messageID: id })
    assert.deepEqual(redaction, { messages: 1, parts: 2, sessions: [run.id] })
    const items = await run.items()
    assert.equal(JSON.stringify(items).includes("secret"), false)
    assert.equal(JSON.stringify(await scene.rows({ sessionID: run.id })).includes("secret"), false)
    assert.ok(!("notes" in items[0]!))
    assert.deepEqual(items[1]?.notes, { summary: "kept note" })
    assert.equal(items[1] && (await run.texts())[1], "kept")
  }),

  promised(
    "redacting a prompt replaces the title that was made from its first words, also in forks",
    async (scene) => {
      const { store, make } = scene
      const words = "The door code is 4711 blue fox and more"
      const title = titleFromText(words)
      const run = await scene.session({ title })
      const part = make.text(words)
      const id = await run.append([make.text("before"), part])
      const fork = await scene.fork(run.id, { fields: { title } })
      const named = await scene.fork(run.id, { fields: { title: "The door" } })
      await store.redact({ sessionID: run.id, messageID: id, partID: part.id })
      const titles = await Promise.all([run, fork, named].map(async (one) => (await one.info()).title))
      assert.deepEqual(titles, [redacted, redacted, "The door"])
      assert.deepEqual((await store.search({ text: "4711" })).hits, [])
    },
  ),

  promised(
    "redacting a session removes all content that it reaches, its title, summary, todos and permission requests",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session({ title: "secret title" })
      const sessionID = run.id
      const asking = { patterns: ["secret"], always: ["secret"], metadata: { a: "secret" } }
      const answered = { ...asking, reply: "reject" as const, feedback: "secret" }
      const request = make.permission(sessionID, answered)
      const ids = await run.sayAll("secret a", "secret b")
      const left = (await run.info()).history.segment
      await run.moveBefore(ids[1]!)
      await run.say("secret c")
      const fork = await scene.fork(sessionID, { fields: { title: "fork" } })
      await run.commit(
        {
          op: "todos.put",
          sessionID,
          todos: [{ id: "1", content: "secret", status: "pending", priority: "low" }],
        },
        { op: "permission.put", request },
        {
          op: "session.patch",
          sessionID,
          set: {
            revert: { messageID: ids[0]!, diff: "secret" },
            summary: { additions: 1, deletions: 0, files: 1 },
          },
        },
      )
      const cursor = await store.cursor()
      const redaction = await store.redact({ sessionID })
      assert.deepEqual(redaction, { messages: 3, parts: 3, sessions: [sessionID, fork.id] })
      const info = await run.info()
      assert.deepEqual(
        [info.title, info.summary, info.revert],
        ["[redacted]", undefined, { messageID: ids[0] }],
      )
      assert.deepEqual(await store.todos(sessionID), [])
      const { feedback: _feedback, ...asked } = request
      const blank = { ...asked, patterns: [], always: [], metadata: {} }
      assert.deepEqual(await store.permissions({ sessionID }), [blank])
      assert.deepEqual(
        (await scene.rows({ sessionID }, cursor)).map((row) => row.type),
        ["session", "history", "todos", "permission"],
      )
      const all = [
        await run.items(),
        await run.items(left),
        await fork.items(),
        await scene.rows({ directory: "/work" }),
      ]
      assert.equal(JSON.stringify(all).includes("secret"), false)
      assert.equal((await fork.info()).title, "fork")
      assert.deepEqual((await store.search({ text: "secret" })).hits, [])
    },
  ),

  promised(
    "a redaction increments the epoch of every session that shares the message and keeps the messages before it",
    async (scene) => {
      const { store } = scene
      const source = await scene.session()
      const ids = await source.sayAll("a", "b", "c")
      const fork = await scene.fork(source.id)
      const cursor = await store.cursor()
      const seq = (await fork.info()).seq
      await store.redact({ sessionID: source.id, messageID: ids[1] })
      for (const [run, epoch] of [
        [source, 1],
        [fork, 2],
      ] as const) {
        const rows = await scene.rows({ sessionID: run.id }, cursor)
        assert.deepEqual(
          rows.map((row) => (row.type === "history" ? [row.epoch, row.keep] : row.type)),
          ["session", [epoch, 1]],
        )
        assert.equal((await run.info()).history.epoch, epoch)
      }
      assert.equal((await fork.info()).seq, seq + 1)
    },
  ),

  promised("redacting twice succeeds", async (scene) => {
    const { store } = scene
    const run = await scene.session()
    const messageID = await run.say("secret")
    await store.redact({ sessionID: run.id, messageID })
    const once = await run.items()
    await store.redact({ sessionID: run.id, messageID })
    assert.deepEqual(await run.items(), once)
  }),

  promised("a message that only a left tail has can be redacted", async (scene) => {
    const { store } = scene
    const run = await scene.session()
    const ids = await run.sayAll("a", "secret")
    const left = (await run.info()).history.segment
    const fork = await scene.fork(run.id)
    await run.moveBefore(ids[1]!)
    await run.say("c")
    const forkLeft = (await fork.info()).history.segment
    await fork.moveBefore(ids[0]!)
    const cursor = await store.cursor()
    await store.redact({ sessionID: run.id, messageID: ids[1] })
    for (const items of [await run.items(left), await fork.items(forkLeft)]) {
      assert.equal(JSON.stringify(items).includes("secret"), false)
    }
    assert.deepEqual(await run.texts(), ["a", "c"])
    for (const [sessionID, keep] of [
      [run.id, 1],
      [fork.id, 0],
    ] as const) {
      const row = (await scene.rows({ sessionID }, cursor)).find(({ type }) => type === "history")
      assert.equal(
        row?.type === "history" && row.keep,
        keep,
        "a replica never keeps more messages than the history has",
      )
    }
  }),

  promised("blobs are removed with the content that referred to them", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const hash = await store.blobs.put(Buffer.from("secret"))
    const [first, second] = [
      await run.append([make.file(`blob:${hash}`)]),
      await run.append([make.file(`blob:${hash}`)]),
    ]
    await store.redact({ sessionID: run.id, messageID: first })
    assert.equal(await store.blobs.size(hash), 6)
    await store.redact({ sessionID: run.id, messageID: second })
    await failsWith("not_found", store.blobs.get(hash))
  }),

  promised("search no longer finds redacted text and still finds the rest", async (scene) => {
    const { store } = scene
    const run = await scene.session()
    const [secret] = await run.sayAll("walrus here", "walrus there")
    assert.equal((await store.search({ text: "walrus" })).hits.length, 2)
    await store.redact({ sessionID: run.id, messageID: secret })
    const { hits } = await store.search({ text: "walrus" })
    assert.deepEqual(
      hits.map((hit) => hit.snippet),
      ["walrus there"],
    )
  }),

  promised("an open message, and a session with a waiting prompt, cannot be redacted", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const sealed = await run.say("a")
    const open = await run.begin(make.text("b"))
    const sessionID = run.id
    await failsWith("conflict", store.redact({ sessionID, messageID: open }))
    await failsWith("conflict", store.redact({ sessionID }))
    await store.redact({ sessionID, messageID: sealed })
    await run.seal(open)
    const prompt = make.prompt(sessionID)
    await store.admit(prompt)
    await failsWith("conflict", store.redact({ sessionID }))
    await run.commit({ op: "inbox.take", sessionID, itemID: prompt.id })
    await store.redact({ sessionID })
  }),

  promised(
    "redacting an unknown target fails with not_found, and a part needs its message",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session()
      const part = make.text("a")
      const messageID = await run.append([part])
      const sessionID = run.id
      await failsWith("not_found", store.redact({ sessionID: make.id("session") }))
      await failsWith("not_found", store.redact({ sessionID, messageID: make.id("message") }))
      await failsWith("not_found", store.redact({ sessionID, messageID, partID: make.id("part") }))
      await failsWith("invalid", store.redact({ sessionID, partID: part.id }))
      assert.deepEqual(await run.texts(), ["a"])
    },
  ),

  promised(
    "a session that another process runs cannot be redacted as a whole",
    async (scene) => {
      const run = await scene.session()
      const other = await scene.second({ holder: { ...currentHolder(), instance: "other" } })
      await failsWith("conflict", other.redact({ sessionID: run.id }))
      await scene.store.release(run.lease)
      await other.redact({ sessionID: run.id })
    },
    { needs: ["second"] },
  ),
]
