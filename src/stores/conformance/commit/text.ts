import assert from "node:assert/strict"
import type { Op } from "../../commit.ts"
import { completed } from "../samples.ts"
import { promised } from "../scene.ts"

const dirty = "a\0b\ud800c\udc00d"
const clean = "a\ufffdb\ufffdc\ufffdd"

export const textCases = [
  promised(
    "NUL and lone surrogates become U+FFFD in every field, and lengths stay the same",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session({ title: dirty })
      const sessionID = run.id
      const part = { ...make.text(dirty), metadata: { [dirty]: [dirty] } }
      const messageID = await run.append([
        part,
        make.tool({ ...completed, output: dirty, input: { x: dirty } }),
      ])
      await run.note(messageID, "summary", { deep: { list: [dirty] } })
      await run.commit(
        {
          op: "todos.put",
          sessionID,
          todos: [{ id: dirty, content: dirty, status: "pending", priority: "low" }],
        },
        { op: "permission.put", request: make.permission(sessionID, { patterns: [dirty] }) },
      )
      const prompt = make.prompt(sessionID, dirty)
      await store.admit(prompt)
      assert.equal((await store.admit(prompt)).duplicate, true)
      const all = JSON.stringify([
        await run.info(),
        await run.items(),
        await store.todos(sessionID),
        await store.permissions({ sessionID }),
        await store.inbox(sessionID),
        await scene.rows({ sessionID }),
      ])
      assert.ok(all.includes(clean))
      assert.ok(!/\\u0000|\\ud[89a-f]/i.test(all))
      const [item] = await run.items()
      assert.deepEqual(item?.parts[0], {
        ...part,
        text: clean,
        metadata: { [clean]: [clean] },
        sessionID,
        messageID,
      })
      assert.deepEqual(item?.notes, { summary: { deep: { list: [clean] } } })
      assert.equal((await run.info()).title, clean)
    },
  ),

  promised("NUL and lone surrogates in pieces become U+FFFD, and offsets stay valid", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const part = make.text("")
    const messageID = await run.begin(part)
    await run.grow(messageID, { partID: part.id, offset: 0, text: dirty })
    await run.grow(messageID, { partID: part.id, offset: dirty.length, text: "e\0" })
    assert.deepEqual(await run.texts(), [`${clean}e\ufffd`])
  }),

  promised("all other text comes back unchanged", async (scene) => {
    const texts = [
      "",
      " ",
      "\n",
      "\r\n\t\b\u001b[31m",
      "\u2028\u2029\u0085\ufeff",
      "e\u0301 é ﬁ İ ẞ",
      "👩‍👩‍👧 𝒳 𠮷",
      "الله שלום हिन्दी",
      "'; DROP TABLE message; --",
      '{"json": "in text", "\\u0000": 1}',
      "\ufffd",
      "\uffff\ufffe",
      "x".repeat(100_000),
    ]
    const run = await scene.session()
    await run.sayAll(...texts)
    assert.deepEqual(await run.texts(), texts)
    if (!scene.driver.reopen) return
    await scene.reopen()
    assert.deepEqual(await run.texts(), texts)
  }),

  promised("numbers, nested values and unusual names in metadata come back unchanged", async (scene) => {
    const { make } = scene
    const run = await scene.session()
    const metadata = {
      big: 2 ** 53,
      small: 5e-324,
      fraction: 0.1,
      negative: -1.5,
      nothing: null,
      yes: true,
      empty: { list: [], object: {} },
      "": "no name",
      "2": "after",
      "1": "before",
      constructor: "x",
      toString: "y",
    }
    await run.append([{ ...make.text("a"), metadata }])
    const part = (await run.items())[0]?.parts[0]
    assert.deepEqual(part?.type === "text" && part.metadata, metadata)
  }),

  promised("fields that are absent stay absent, and undefined is the same as absent", async (scene) => {
    const { make } = scene
    const run = await scene.session({ agent: undefined, key: undefined })
    const message = make.user({ system: undefined, variant: undefined })
    const parts = [{ ...make.text("a"), synthetic: undefined, metadata: { gone: undefined, kept: 1 } }]
    const append: Op = { op: "message.append", sessionID: run.id, message, parts, sealed: true }
    await run.commit(append)
    const info = await run.info()
    assert.ok(!("agent" in info) && !("key" in info) && !("revert" in info))
    const [item] = await run.items()
    assert.ok(!("system" in item!.message) && !("synthetic" in item!.parts[0]!))
    assert.deepEqual(item?.parts[0]?.type === "text" && item.parts[0].metadata, { kept: 1 })
  }),
]
