import { readdirSync } from "node:fs"
import { describe, expect, it } from "vitest"
import type { PartBody } from "../../src/protocol/index.ts"
import type { Store } from "../../src/stores/store.ts"
import { isListed, readAsOthersDo } from "./jsonl-format.ts"
import {
  assistant,
  claimed,
  createOp,
  JsonlScene,
  nowMs,
  sayOp,
  sessionID,
  textPart,
  texts,
  user,
} from "./jsonl-scene.ts"

const time = { start: nowMs, end: nowMs + 5 }

/** One part of every kind that a sealed message may contain. */
const everyPart: PartBody[] = [
  { id: "prt_start", type: "step-start", snapshot: "abc", prune: { time: 1, parts: ["prt_old"] } },
  { id: "prt_think", type: "reasoning", text: "Let me see.", time, metadata: { signature: "s" } },
  { id: "prt_blank", type: "reasoning", text: "", time },
  { ...textPart("said", "I will read it. 解析器 \u{1f600}"), synthetic: true } as PartBody,
  { ...textPart("hidden", "for people only"), ignored: true } as PartBody,
  textPart("empty", ""),
  {
    id: "prt_read",
    type: "tool",
    callID: "call_1",
    tool: "read",
    metadata: { provider: { id: 1 } },
    state: {
      status: "completed",
      input: { path: "a.ts", nested: { list: [1, "two", null] } },
      output: "export const a = 1\n",
      outputBlob: "0".repeat(64),
      title: "a.ts",
      metadata: { lines: 1 },
      time: { ...time, compacted: nowMs },
      attachments: [{ type: "file", mime: "image/png", url: "data:image/png;base64,AAAA" }],
    },
  },
  {
    id: "prt_bash",
    type: "tool",
    callID: "call_2",
    tool: "bash",
    state: { status: "error", input: {}, error: "exit 1", metadata: { code: 1 }, time },
  },
  { id: "prt_file", type: "file", mime: "text/plain", filename: "a.ts", url: "file:///a.ts" },
  { id: "prt_agent", type: "agent", name: "explore", source: { value: "@explore", start: 0, end: 8 } },
  { id: "prt_sub", type: "subtask", prompt: "look", description: "a look", agent: "explore" },
  {
    id: "prt_retry",
    type: "retry",
    attempt: 1,
    error: { name: "UnknownError", data: { message: "x" } },
    time: { created: 1 },
  },
  { id: "prt_snap", type: "snapshot", snapshot: "def" },
  { id: "prt_patch", type: "patch", hash: "h", files: ["a.ts"] },
  {
    id: "prt_end",
    type: "step-finish",
    reason: "stop",
    cost: 0.5,
    tokens: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } },
  },
]

const compaction: PartBody = {
  id: "prt_compaction",
  type: "compaction",
  auto: true,
  summary: "The parser was fixed.",
  ledger: "a.ts\nb.ts",
  firstKeptEntryId: "msg_third",
  tokensBefore: 5000,
  tokensAfter: 300,
}

async function begin(
  scene: JsonlScene,
): Promise<{ store: Store; commit: Awaited<ReturnType<typeof claimed>> }> {
  const store = await scene.open()
  await store.commit({ ops: [createOp()] })
  return { store, commit: await claimed(store) }
}

/** A session with tool calls and a compaction, a fork of it, and a committed revert. */
async function writeAll(scene: JsonlScene): Promise<Store> {
  const { store, commit } = await begin(scene)
  await commit(sayOp("first", "Fix the parser"))
  await commit({
    op: "message.append",
    sessionID,
    message: assistant("second"),
    parts: everyPart,
    sealed: true,
  })
  await commit(sayOp("third", "Now write tests"))
  await commit({
    op: "message.append",
    sessionID,
    message: assistant("fourth", { summary: true }),
    parts: [compaction],
    sealed: true,
  })
  await commit(sayOp("fifth", "Go on"))
  const session = {
    id: "ses_fork",
    title: "A fork",
    version: "0.1.0",
    time: { created: nowMs, updated: nowMs },
  }
  await store.commit({ ops: [{ op: "session.fork", sourceID: sessionID, session, segment: "seg_fork" }] })
  await commit(
    { op: "history.move", sessionID, segment: "seg_second", messageID: "msg_third" },
    sayOp("sixth", "Rather write docs"),
  )
  return store
}

describe("session files, as other programs read them,", () => {
  it("follow the rules with calls, a compaction, a fork and a revert", async () => {
    await using scene = await JsonlScene.begin()
    await writeAll(scene)
    const main = readAsOthersDo(scene.text(scene.main()))
    expect(main.problems).toEqual([])
    expect(main.name).toBe("A title")
    expect(main.context).toEqual([
      "user: Fix the parser",
      "assistant: Let me see.",
      "assistant: I will read it. 解析器 \u{1f600}",
      "call: read",
      "call: bash",
      "result: export const a = 1\n",
      "result: exit 1",
      "user: Rather write docs",
    ])
    const fork = readAsOthersDo(scene.text(scene.main("ses_fork")))
    expect(fork.problems).toEqual([])
    expect(fork.name).toBe("A fork")
    expect(fork.context).toEqual([
      "summary: The parser was fixed.\n\na.ts\nb.ts",
      "user: Now write tests",
      "user: Go on",
    ])
  })

  it("are the only listed files of their directory", async () => {
    await using scene = await JsonlScene.begin()
    await writeAll(scene)
    const directory = scene.path("agents/main/sessions")
    const listed = readdirSync(directory).filter(
      (name) => name.endsWith(".jsonl") && isListed(scene.text(`${directory}/${name}`)),
    )
    expect(listed.sort()).toEqual(["ses_fork.jsonl", "ses_one.jsonl"])
  })

  it("end at the target of a revert, even before a message is appended there", async () => {
    await using scene = await JsonlScene.begin()
    const { commit } = await begin(scene)
    await commit(sayOp("first"), sayOp("second"))
    await commit({ op: "history.move", sessionID, segment: "seg_second", messageID: "msg_second" })
    const partly = readAsOthersDo(scene.text(scene.main()))
    expect(partly).toMatchObject({ problems: [], context: ["user: first"] })
    await commit({ op: "history.move", sessionID, segment: "seg_third", messageID: "msg_first" })
    expect(readAsOthersDo(scene.text(scene.main()))).toMatchObject({ problems: [], context: [] })
    await commit(sayOp("third"))
    expect(readAsOthersDo(scene.text(scene.main()))).toMatchObject({ problems: [], context: ["user: third"] })
  })

  it("never contain an id twice, even if a message returns after a revert", async () => {
    await using scene = await JsonlScene.begin()
    const { store, commit } = await begin(scene)
    await commit(sayOp("first"), sayOp("second", "before"))
    await commit(
      { op: "history.move", sessionID, segment: "seg_second", messageID: "msg_second" },
      sayOp("second", "after"),
    )
    expect(readAsOthersDo(scene.text(scene.main()))).toMatchObject({
      problems: [],
      context: ["user: first", "user: after"],
    })
    await store.close()
    const again = await scene.open()
    expect((await again.history(sessionID)).items.map((item) => item.message.id)).toEqual([
      "msg_first",
      "msg_second",
    ])
    expect(await texts(again, sessionID, "seg_one")).toEqual(["first", "before"])
  })

  it("follow the rules after a redaction, which removes all of the content", async () => {
    await using scene = await JsonlScene.begin()
    const store = await writeAll(scene)
    await store.redact({ sessionID, messageID: "msg_second" })
    for (const id of [sessionID, "ses_fork"]) {
      const text = scene.text(scene.main(id))
      expect(readAsOthersDo(text).problems).toEqual([])
      expect(text).not.toContain("解析器")
      expect(text).not.toContain("export const")
    }
    expect(await texts(store)).toContain("Rather write docs")
  })

  it("show an answer that failed or was stopped as such", async () => {
    await using scene = await JsonlScene.begin()
    const { commit } = await begin(scene)
    const aborted = assistant("stopped", {
      error: { name: "MessageAbortedError", data: { message: "by hand" } },
    })
    const failed = assistant("failed", { error: { name: "UnknownError", data: { message: "broken" } } })
    await commit(
      { op: "message.append", sessionID, message: aborted, sealed: true },
      { op: "message.append", sessionID, message: failed, sealed: true },
    )
    const { problems, path } = readAsOthersDo(scene.text(scene.main()))
    expect(problems).toEqual([])
    expect(path.flatMap((entry) => (entry.type === "message" ? [entry.message] : []))).toMatchObject([
      { stopReason: "aborted", errorMessage: "by hand", content: [] },
      { stopReason: "error", errorMessage: "broken", content: [] },
    ])
  })
})

describe("the rules", () => {
  const header = {
    type: "session",
    version: 3,
    id: "s1",
    timestamp: "2026-01-01T00:00:00.000Z",
    cwd: "/project",
  }
  const said = { type: "message", id: "e1", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" }
  const message = { role: "user", content: "hello", timestamp: 1 }
  const problemsOf = (...values: object[]) =>
    readAsOthersDo(values.map((value) => `${JSON.stringify(value)}\n`).join("")).problems

  it("accept a valid file", () => {
    expect(problemsOf(header, { ...said, message })).toEqual([])
  })

  it("report what other programs refuse, including the lines of the sample", () => {
    const seed = { type: "session", version: 3, agentId: "a", createdAt: 1 }
    expect(
      problemsOf(seed, { type: "message", message: { role: "user", content: "hello" }, timestamp: 1 }),
    ).not.toEqual([])
    expect(problemsOf({ ...header, version: 2 })).not.toEqual([])
    expect(problemsOf(header, { ...said, parentId: "nobody", message })).not.toEqual([])
    expect(problemsOf(header, { ...said, message }, { ...said, message })).not.toEqual([])
    expect(
      problemsOf(header, { ...said, message: { ...message, role: "assistant", content: [] } }),
    ).not.toEqual([])
    const result = {
      role: "toolResult",
      toolCallId: "c",
      toolName: "t",
      content: [],
      isError: false,
      timestamp: 1,
    }
    expect(problemsOf(header, { ...said, message: result })).not.toEqual([])
    const compaction = { ...said, type: "compaction", summary: "s", firstKeptEntryId: "e9", tokensBefore: 1 }
    expect(problemsOf(header, compaction)).not.toEqual([])
  })
})

describe("a main file", () => {
  it("gives back every kind of part exactly as it was", async () => {
    await using scene = await JsonlScene.begin()
    const { store, commit } = await begin(scene)
    const image: PartBody = {
      id: "prt_image",
      type: "file",
      mime: "image/png",
      url: "data:image/png;base64,iVBORw0=",
    }
    const odd: PartBody = {
      id: "prt_odd",
      type: "file",
      mime: "image/png",
      url: "data:image/png;charset=x;base64,AA",
    }
    const noted = { ...user("first"), system: "Be short.", tools: { bash: false }, variant: "high" }
    await commit({
      op: "message.append",
      sessionID,
      message: noted,
      parts: [image, odd, ...everyPart],
      sealed: true,
    })
    await commit({
      op: "message.append",
      sessionID,
      message: assistant("second"),
      parts: everyPart,
      sealed: true,
    })
    const two: PartBody = { id: "prt_two", type: "compaction", auto: false, summary: "" }
    const bare: PartBody = { id: "prt_bare", type: "compaction", auto: false }
    await commit({
      op: "message.append",
      sessionID,
      message: assistant("third"),
      parts: [compaction],
      sealed: true,
    })
    await commit({
      op: "message.append",
      sessionID,
      message: assistant("fourth"),
      parts: [compaction, textPart("beside", "and text"), two, bare],
      sealed: true,
    })
    await commit({ op: "message.append", sessionID, message: user("fifth"), parts: [two], sealed: true })
    const before = await store.history(sessionID)
    await store.close()
    const again = await scene.open()
    expect(await again.history(sessionID)).toEqual(before)
  })

  it("contains no text twice", async () => {
    await using scene = await JsonlScene.begin()
    const { commit } = await begin(scene)
    await commit({
      op: "message.append",
      sessionID,
      message: assistant("second"),
      parts: everyPart,
      sealed: true,
    })
    for (const said of ["Let me see.", "I will read it.", "export const a", "exit 1"]) {
      expect(scene.text(scene.main()).split(said)).toHaveLength(2)
    }
  })

  it("only grows by appends", async () => {
    await using scene = await JsonlScene.begin()
    const { store, commit } = await begin(scene)
    let before = scene.text(scene.main())
    const steps = [
      () => commit(sayOp("first"), sayOp("second")),
      () => store.commit({ ops: [{ op: "session.patch", sessionID, set: { title: "Another" } }] }),
      () => commit({ op: "history.move", sessionID, segment: "seg_second", messageID: "msg_second" }),
      () => commit(sayOp("third")),
      () => store.close(),
    ]
    for (const step of steps) {
      await step()
      const now = scene.text(scene.main())
      expect(now.startsWith(before)).toBe(true)
      before = now
    }
  })
})

it("the main file never contains the share secret, not even after a redaction rewrites the file", async () => {
  await using scene = await JsonlScene.begin()
  const store = await scene.open()
  const share = { url: "https://example.org/share", secret: "s".repeat(24) }
  await store.commit({ ops: [createOp(sessionID, { share })] })
  const commit = await claimed(store)
  await commit(sayOp("one", "to be redacted"))
  await store.redact({ sessionID })
  expect(scene.text(scene.main())).not.toContain(share.secret)
  expect((await store.session(sessionID)).share).toEqual(share)
})
