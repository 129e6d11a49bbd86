import { describe, expect, it } from "vitest"
import { readAsOthersDo } from "./jsonl-format.ts"
import { claimed, createOp, JsonlScene, nowMs, sayOp, sessionID, textOf, texts } from "./jsonl-scene.ts"

const handID = "ses-1708300000000"
const agent = "python-reviewer"

/** The lines of the original sample file, unchanged. */
const sampleLines = [
  { type: "session", version: 3, agentId: agent, createdAt: 1708300000000 },
  { type: "message", message: { role: "user", content: "你好，介绍一下自己" }, timestamp: 1708300001000 },
  {
    type: "message",
    message: { role: "assistant", content: [{ type: "text", text: "我是..." }] },
    timestamp: 1708300002000,
  },
  {
    type: "compaction",
    summary: "用户询问了模型身份...前10轮已压缩",
    firstKeptEntryId: "msg-11",
    tokensBefore: 80000,
    tokensAfter: 5000,
    timestamp: 1708300100000,
  },
  { type: "message", message: { role: "user", content: "继续分析这段代码" }, timestamp: 1708300101000 },
]

const usage = {
  input: 5,
  output: 9,
  reasoning: 2,
  cacheRead: 1,
  cacheWrite: 0,
  totalTokens: 15,
  cost: { total: 0.5 },
}

/** An entry as another program with this format writes it. */
function entry(id: string, parentId: string | null, fields: object): object {
  return { id, parentId, timestamp: "2026-01-01T00:00:00.000Z", ...fields }
}

function said(id: string, parentId: string | null, message: object): object {
  return entry(id, parentId, { type: "message", message: { timestamp: nowMs + 100, ...message } })
}

const calls = { provider: "openai", model: "gpt", api: "x", usage, stopReason: "toolUse" }
const toolCall = { type: "toolCall", id: "call_9", name: "ls", arguments: { path: "." } }

describe("a session file written by hand, with the lines of the sample", () => {
  it("is listed and read, with the same ids each time", async () => {
    await using scene = await JsonlScene.begin()
    scene.write(scene.main(handID, agent), sampleLines)
    const store = await scene.open()
    const { items } = await store.sessions()
    expect(items).toMatchObject([
      {
        id: handID,
        agent,
        title: "你好，介绍一下自己",
        time: { created: 1708300000000, updated: 1708300101000 },
        history: { count: 4, epoch: 1 },
      },
    ])
    const before = await store.history(handID)
    expect(before.items.map((item) => item.message.id)).toEqual(["msg-1", "msg-2", "msg-3", "msg-4"])
    expect(before.items.map(textOf)).toEqual([
      "你好，介绍一下自己",
      "我是...",
      "summary: 用户询问了模型身份...前10轮已压缩",
      "继续分析这段代码",
    ])
    expect(before.items[2]!.parts).toMatchObject([
      { type: "compaction", firstKeptEntryId: "msg-11", tokensBefore: 80000, tokensAfter: 5000 },
    ])
    expect(before.items[3]!.message.time.created).toBe(1708300101000)
    await store.close()
    const again = await scene.open()
    expect(await again.history(handID)).toEqual(before)
    expect((await again.check()).problems).toEqual([])
    expect(scene.text(scene.main(handID, agent))).toBe(
      sampleLines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    )
  })

  it("gets its title from the index of the other program", async () => {
    await using scene = await JsonlScene.begin()
    scene.write(scene.main(handID, agent), sampleLines)
    const listed = {
      id: handID,
      agentId: agent,
      filePath: `${handID}.jsonl`,
      title: "分析 payment.py 的并发问题",
    }
    const index = {
      sessions: {
        [handID]: { ...listed, messageCount: 12, createdAt: 1708300000000, lastAt: 1708309999999 },
      },
    }
    scene.write(scene.path(`agents/${agent}/sessions/sessions.json`), JSON.stringify(index))
    const store = await scene.open()
    expect(await store.session(handID)).toMatchObject({
      title: "分析 payment.py 的并发问题",
      time: { created: 1708300000000, updated: 1708309999999 },
    })
  })

  it("is continued without a change to the existing lines", async () => {
    await using scene = await JsonlScene.begin()
    const main = scene.main(handID, agent)
    // The last line feed is missing, as some editors leave it.
    const written = sampleLines.map((line) => JSON.stringify(line)).join("\n")
    scene.write(main, written)
    const store = await scene.open()
    const commit = await claimed(store, handID)
    await commit(sayOp("more", "再来", handID))
    await commit(sayOp("yet", "还有", handID))
    expect(scene.text(main).startsWith(`${written}\n`)).toBe(true)
    expect(scene.lines(main).slice(5)).toMatchObject([
      { type: "message", id: "msg_more", parentId: "msg-4" },
      { type: "message", id: "msg_yet", parentId: "msg_more" },
    ])
    await store.close()
    expect((await texts(await scene.open(), handID)).slice(3)).toEqual(["继续分析这段代码", "再来", "还有"])
  })

  it("can be forked, reverted, noted and redacted like any other", async () => {
    await using scene = await JsonlScene.begin()
    scene.write(scene.main(handID, agent), sampleLines)
    const store = await scene.open()
    const session = { id: "ses_fork", title: "f", version: "0", time: { created: 1, updated: 1 } }
    await store.commit({ ops: [{ op: "session.fork", sourceID: handID, session, segment: "seg_fork" }] })
    const commit = await claimed(store, handID)
    await commit({ op: "note.put", sessionID: handID, messageID: "msg-2", key: "seen", value: true })
    await commit({ op: "history.move", sessionID: handID, segment: "seg_new", messageID: "msg-3" })
    await commit(sayOp("new", "新", handID))
    const redaction = await store.redact({ sessionID: handID, messageID: "msg-1" })
    expect(redaction.sessions.sort()).toEqual([handID, "ses_fork"].sort())
    await store.close()
    const again = await scene.open()
    expect(await texts(again, handID)).toEqual(["[redacted]", "我是...", "新"])
    expect(await texts(again, "ses_fork")).toMatchObject([
      "[redacted]",
      "我是...",
      expect.anything(),
      "继续分析这段代码",
    ])
    const { left } = (await again.session(handID)).history
    expect(await texts(again, handID, left[0]!.segment)).toHaveLength(4)
    expect(scene.text(scene.main(handID, agent))).not.toContain("你好")
    expect((await again.check()).problems).toEqual([])
  })

  it("that appears while the store is open is listed and is in the change feed", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    const cursor = await store.cursor()
    scene.write(scene.main(handID, agent), sampleLines)
    expect((await store.check()).problems).toEqual([])
    expect((await store.sessions()).items).toHaveLength(1)
    const { rows } = await store.changes({ directory: "." }, cursor)
    expect(rows.map((row) => row.type)).toEqual([
      "session",
      "history",
      ...Array<string>(4).fill("message"),
      ...Array<string>(4).fill("part"),
    ])
  })

  it("may contain calls without results, which become failed calls", async () => {
    await using scene = await JsonlScene.begin()
    const content = [{ type: "tool_use", id: "c1", name: "grep", input: { pattern: "x" } }]
    scene.write(scene.main(handID, agent), [
      ...sampleLines,
      { type: "message", message: { role: "assistant", content }, timestamp: 1708300102000 },
    ])
    const store = await scene.open()
    const last = (await store.history(handID, { limit: 1 })).items[0]!
    expect(last.parts).toMatchObject([
      { type: "tool", tool: "grep", state: { status: "error", input: { pattern: "x" } } },
    ])
  })
})

describe("a session file to which another program appends", () => {
  it("has the other program's messages, results, compaction and title, and continues after them", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    await store.commit({ ops: [createOp(), sayOp("first")] })
    const cursor = await store.cursor()
    scene.append(scene.main(), [
      entry("e0", "title-1", { type: "model_change", provider: "openai", modelId: "gpt" }),
      said("e1", "msg_first", { role: "user", content: "from elsewhere" }),
      said("e2", "e1", {
        role: "assistant",
        content: [{ type: "thinking", thinking: "hm" }, toolCall],
        ...calls,
      }),
      entry("e3", "e2", { type: "label", targetId: "e1", label: "here" }),
      said("e4", "e3", {
        role: "toolResult",
        toolCallId: "call_9",
        toolName: "ls",
        content: [{ type: "text", text: "a.ts" }],
        isError: false,
      }),
      entry("e5", "e4", { type: "compaction", summary: "so far", firstKeptEntryId: "e1", tokensBefore: 7 }),
      entry("e6", "e5", { type: "session_info", name: " named there " }),
    ])
    expect(await texts(store)).toEqual(["first", "from elsewhere", "hm | ls: a.ts", "summary: so far"])
    expect((await store.session(sessionID)).title).toBe("named there")
    const { items } = await store.history(sessionID)
    expect(items.map((item) => item.message.id)).toEqual(["msg_first", "msg-e1", "msg-e2", "msg-e5"])
    expect(items[2]!.message).toMatchObject({
      modelID: "gpt",
      providerID: "openai",
      parentID: "msg-e1",
      cost: 0.5,
      tokens: { input: 5, output: 7, reasoning: 2, cache: { read: 1, write: 0 } },
    })
    expect(items[3]!.parts).toMatchObject([{ type: "compaction", firstKeptEntryId: "msg-e1" }])
    const { rows } = await store.changes({ sessionID }, cursor)
    expect(rows.filter((row) => row.type === "message")).toHaveLength(3)

    const commit = await claimed(store)
    await commit(sayOp("back", "and back"))
    expect(scene.lines(scene.main()).at(-1)).toMatchObject({ id: "msg_back", parentId: "e6" })
    expect(readAsOthersDo(scene.text(scene.main())).problems).toEqual([])
    const before = await store.history(sessionID)
    await store.close()
    const again = await scene.open()
    expect(await again.history(sessionID)).toEqual(before)
  })

  it("does not show calls of the other program before their results are there", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    await store.commit({ ops: [createOp(), sayOp("first")] })
    scene.append(scene.main(), [
      said("e1", "msg_first", { role: "user", content: "list" }),
      said("e2", "e1", { role: "assistant", content: [toolCall], ...calls }),
    ])
    expect(await texts(store)).toEqual(["first", "list"])
    const result = { role: "toolResult", toolCallId: "call_9", toolName: "ls", content: [], isError: true }
    scene.append(scene.main(), [said("e3", "e2", result)])
    expect(await texts(store)).toEqual(["first", "list", "ls: error"])
  })

  it("shows calls without results as failed when a run of this store begins", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    await store.commit({ ops: [createOp(), sayOp("first")] })
    scene.append(scene.main(), [
      said("e2", "msg_first", { role: "assistant", content: [toolCall], ...calls }),
    ])
    await claimed(store)
    expect(await texts(store)).toEqual(["first", "ls: error"])
  })

  it("moves to the branch that the other program started, and keeps the old branch as a left tail", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    await store.commit({ ops: [createOp(), sayOp("first"), sayOp("second"), sayOp("third")] })
    scene.append(scene.main(), [said("e1", "msg_first", { role: "user", content: "another way" })])
    expect(await texts(store)).toEqual(["first", "another way"])
    const { left, epoch } = (await store.session(sessionID)).history
    expect(left).toMatchObject([{ segment: "seg_one", keep: 1, count: 3 }])
    expect(epoch).toBe(1)
    expect(await texts(store, sessionID, "seg_one")).toEqual(["first", "second", "third"])
    // The next line continues the branch that was left.
    scene.append(scene.main(), [said("e2", "msg_third", { role: "user", content: "after all" })])
    expect(await texts(store)).toEqual(["first", "second", "third", "after all"])
    await store.close()
    const again = await scene.open()
    expect(await texts(again)).toEqual(["first", "second", "third", "after all"])
    expect(await texts(again, sessionID, "seg_one")).toEqual(["first", "second", "third"])
    expect((await again.check()).problems).toEqual([])
  })

  it("keeps an answer of this store that was open at that time, and leaves the other program's lines beside it", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    await store.commit({ ops: [createOp(), sayOp("first")] })
    const commit = await claimed(store)
    const place = { sessionID, messageID: "msg_open", partID: "prt_open" }
    const message = { ...sayOp("open"), sealed: false, parts: [{ id: "prt_open", type: "text", text: "" }] }
    await commit(message as ReturnType<typeof sayOp>)
    scene.append(scene.main(), [said("e1", "msg_first", { role: "user", content: "in between" })])
    await commit({ op: "piece.add", ...place, field: "text", offset: 0, text: "ours" })
    await commit({ op: "message.seal", sessionID, messageID: "msg_open" })
    expect(await texts(store)).toEqual(["first", "ours"])
    expect(scene.lines(scene.main()).at(-1)).toMatchObject({ id: "msg_open", parentId: "title-1" })
    await commit(sayOp("next"))
    await store.close()
    expect(await texts(await scene.open())).toEqual(["first", "ours", "next"])
    expect(scene.text(scene.main())).toContain("in between")
  })

  it("loses its pending revert when the other program appends at the end", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    await store.commit({ ops: [createOp(), sayOp("first"), sayOp("second")] })
    const set = { revert: { messageID: "msg_second" } }
    await store.commit({ ops: [{ op: "session.patch", sessionID, set }] })
    scene.append(scene.main(), [said("e1", "msg_second", { role: "user", content: "on" })])
    expect(await texts(store)).toEqual(["first", "second", "on"])
    expect((await store.session(sessionID)).revert).toBeUndefined()
  })

  it("keeps lines of an unknown type, even when one message is redacted", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    await store.commit({ ops: [createOp(), sayOp("first", "a secret")] })
    const strange = entry("e1", "msg_first", { type: "from_the_future", value: [1, 2] })
    scene.append(scene.main(), [strange, said("e2", "e1", { role: "user", content: "known" })])
    expect(await texts(store)).toEqual(["a secret", "known"])
    await store.redact({ sessionID, messageID: "msg_first" })
    expect(scene.lines(scene.main())).toContainEqual(strange)
    expect(scene.text(scene.main())).not.toContain("a secret")
    await store.redact({ sessionID })
    expect(scene.text(scene.main())).not.toContain("from_the_future")
    expect(scene.text(scene.path("journal.jsonl"))).not.toContain("secret")
    const commit = await claimed(store)
    await commit(sayOp("after"))
    await store.close()
    expect(await texts(await scene.open())).toEqual(["[redacted]", "[redacted]", "after"])
  })
})

describe("a file that another program made", () => {
  it("is a session, whatever its name", async () => {
    await using scene = await JsonlScene.begin()
    const name = "2026-01-01T00-00-00-000Z_0197f0aa-0000-7000-8000-000000000000"
    scene.write(scene.main(name, "pi"), [
      { type: "session", version: 3, id: "0197f0aa", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/project" },
      said("a1", null, {
        role: "user",
        content: [
          { type: "text", text: "hello" },
          { type: "image", data: "AA", mimeType: "image/png" },
        ],
      }),
    ])
    const store = await scene.open()
    const { items } = await store.sessions()
    expect(items).toMatchObject([
      { directory: "/project", agent: "pi", title: "hello", history: { count: 1 } },
    ])
    expect((await store.history(items[0]!.id)).items[0]!.parts).toMatchObject([
      { type: "text", text: "hello" },
      { type: "file", mime: "image/png", url: "data:image/png;base64,AA" },
    ])
    const commit = await claimed(store, items[0]!.id)
    await commit(sayOp("on", "on", items[0]!.id))
    expect(readAsOthersDo(scene.text(scene.main(name, "pi"))).problems).toEqual([])
  })

  it("reads the same if it is a copy of a session's file without its state file", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    await store.commit({ ops: [createOp(), sayOp("first"), sayOp("second")] })
    const commit = await claimed(store)
    await commit(
      { op: "history.move", sessionID, segment: "seg_new", messageID: "msg_second" },
      sayOp("third"),
    )
    scene.write(scene.main("ses_copy"), scene.text(scene.main()))
    await store.close()
    const again = await scene.open()
    expect(await texts(again, "ses_copy")).toEqual(["first", "third"])
    expect((await again.history("ses_copy")).items.map((item) => item.message.id)).toEqual([
      "msg_first",
      "msg_third",
    ])
    expect(await again.session("ses_copy")).toMatchObject({
      title: "A title",
      projectID: "p",
      directory: "/project",
    })
    const run = await claimed(again, "ses_copy")
    await run(sayOp("fourth", "fourth", "ses_copy"))
    await again.close()
    expect(await texts(await scene.open(), "ses_copy")).toEqual(["first", "third", "fourth"])
  })

  it("prevents a new session with the same file name", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    scene.write(scene.main(), "not ours\n")
    await expect(store.commit({ ops: [createOp()] })).rejects.toMatchObject({ code: "conflict" })
    expect(scene.text(scene.main())).toBe("not ours\n")
  })
})
