import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Message, Part } from "../../protocol/index.ts"
import {
  assistant,
  completed,
  failed,
  history,
  part,
  pending,
  running,
  text,
  tool,
  user,
} from "../samples.ts"
import { beginningNotice, context } from "./context.ts"
import type { ContextMessage } from "./context-message.ts"
import { prunedNotice } from "./tool-pairs.ts"

const says = (role: string, value: string) => ({ role, content: [{ type: "text", text: value }] })

describe("a context", () => {
  test("shows texts, files and calls, and results after the calls", () => {
    const items = history(
      [
        user("msg_a"),
        text("prt_a", "look"),
        part("file", "prt_b", { mime: "image/png", url: "data:,", filename: "a.png" }),
        part("agent", "prt_c", { name: "explore" }),
      ],
      [
        assistant("msg_b"),
        part("step-start", "prt_d", {}),
        part("reasoning", "prt_e", { text: "hm", time: { start: 1 }, metadata: { signature: "s" } }),
        text("prt_f", "reading"),
        tool("prt_g", completed("out")),
        tool("prt_h", failed),
      ],
      [assistant("msg_c"), text("prt_i", "done")],
    )
    expect(context(items)).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "file", mime: "image/png", url: "data:,", filename: "a.png" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", metadata: { signature: "s" } },
          { type: "text", text: "reading" },
          { type: "tool-call", callID: "call_prt_g", tool: "read", input: { path: "a.ts" } },
          { type: "tool-call", callID: "call_prt_h", tool: "read", input: { path: "a.ts" } },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", callID: "call_prt_g", tool: "read", isError: false, output: "out" },
          { type: "tool-result", callID: "call_prt_h", tool: "read", isError: true, output: "no such file" },
        ],
      },
      says("assistant", "done"),
    ])
  })

  test("leaves out ignored text, empty messages and reasoning without text or calls after it", () => {
    const items = history(
      [user("msg_a"), text("prt_a", "hi"), text("prt_b", "for people", { ignored: true })],
      [assistant("msg_b"), part("step-start", "prt_c", {}), text("prt_d", " ")],
      [assistant("msg_c"), part("reasoning", "prt_e", { text: "hm", time: { start: 1 } })],
      [user("msg_d")],
    )
    expect(context(items)).toEqual([says("user", "hi")])
  })

  test("puts text that follows a call after the call's result", () => {
    const items = history(
      [user("msg_a"), text("prt_a", "hi")],
      [
        assistant("msg_b"),
        tool("prt_b", completed("1")),
        text("prt_c", "then"),
        tool("prt_d", completed("2")),
      ],
    )
    expect(context(items).map((message) => message.role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
    ])
  })

  test("starts at the last sealed compaction, with its summary and ledger first", () => {
    const compaction = (id: string, fields: object) => part("compaction", id, { auto: true, ...fields })
    const items = history(
      [user("msg_a"), text("prt_a", "one")],
      [assistant("msg_b"), text("prt_b", "two")],
      [
        { ...assistant("msg_c"), summary: true },
        text("prt_c", "old summary"),
        compaction("prt_d", { summary: "old" }),
      ],
      [user("msg_d"), text("prt_e", "three")],
      [assistant("msg_e"), text("prt_f", "four")],
      [
        { ...assistant("msg_f"), summary: true },
        text("prt_g", "new summary"),
        compaction("prt_h", { summary: "new", ledger: "ledger", firstKeptEntryId: "msg_d" }),
      ],
      [user("msg_g"), text("prt_i", "five")],
    )
    const shown = [says("user", "three"), says("assistant", "four"), says("user", "five")]
    expect(context(items)).toEqual([
      says("user", "[Summary of the conversation so far]\nnew\n\nledger"),
      ...shown,
    ])
    const open = items.map((item) => (item.message.id === "msg_f" ? { ...item, sealed: false } : item))
    expect(context(open)).toEqual([says("user", "[Summary of the conversation so far]\nold"), ...shown])
    const hidden = context(items, { mark: { messageID: "msg_e" } })
    expect(hidden).toEqual([says("user", "[Summary of the conversation so far]\nold"), says("user", "three")])
  })

  test("replaces output by a notice once a prune mark names it", () => {
    const items = history(
      [user("msg_a"), text("prt_a", "hi")],
      [assistant("msg_b"), tool("prt_b", completed("long output")), tool("prt_c", completed("short"))],
      [
        assistant("msg_c"),
        part("step-start", "prt_d", { prune: { time: 1, parts: ["prt_b"] } }),
        text("prt_e", "ok"),
      ],
    )
    expect(context(items)[2]!.content).toMatchObject([{ output: prunedNotice }, { output: "short" }])
    expect(context(items.slice(0, 2))[2]!.content).toMatchObject([
      { output: "long output" },
      { output: "short" },
    ])
  })

  test("is trimmed to the last messages by whole turns", () => {
    const items = history(
      [user("msg_a"), text("prt_a", "one")],
      [assistant("msg_b"), text("prt_b", "two")],
      [user("msg_c"), text("prt_c", "three")],
      [assistant("msg_d"), text("prt_d", "four")],
    )
    expect(context(items, { maxHistory: 3 })).toEqual([says("user", "three"), says("assistant", "four")])
  })

  test("begins with a user message even if the history does not", () => {
    const items = history(
      [assistant("msg_a"), text("prt_a", "Hello, I can help.")],
      [user("msg_b"), text("prt_b", "hi")],
    )
    expect(context(items)).toEqual([
      says("user", beginningNotice),
      says("assistant", "Hello, I can help."),
      says("user", "hi"),
    ])
  })
})

/** The requirements that every model has for a context. */
function expectValid(messages: ContextMessage[]): void {
  if (messages.length > 0) expect(messages[0]!.role).toBe("user")
  const seen = new Set<string>()
  for (const [index, message] of messages.entries()) {
    expect(message.content.length).toBeGreaterThan(0)
    const previous = messages[index - 1]
    const calls =
      message.role === "assistant" ? message.content.filter((each) => each.type === "tool-call") : []
    for (const { callID } of calls) {
      expect(seen.has(callID)).toBe(false)
      seen.add(callID)
    }
    const next = messages[index + 1]
    const results = next?.role === "tool" ? next.content.map((result) => result.callID) : []
    if (message.role === "assistant") expect(results).toEqual(calls.map((call) => call.callID))
    if (message.role === "tool") expect(previous?.role).toBe("assistant")
  }
}

describe("every context", () => {
  const state = fc.constantFrom(pending, running, failed, completed("out"), completed(""))
  const partIDs = Array.from({ length: 40 }, (_, at) => `prt_${at}`)
  const build: fc.Arbitrary<(id: string) => Part> = fc.oneof(
    fc
      .constantFrom("", " ", "said")
      .chain((value) => fc.boolean().map((ignored) => (id: string) => text(id, value, { ignored }))),
    fc
      .constantFrom("", "thought")
      .map((value) => (id: string) => part("reasoning", id, { text: value, time: { start: 1 } })),
    fc.tuple(state, fc.constantFrom("x", "x_2", "y")).map(
      ([value, callID]) =>
        (id: string) =>
          tool(id, value, { callID }),
    ),
    fc
      .subarray(partIDs)
      .map((parts) => (id: string) => part("step-start", id, { prune: { time: 1, parts } })),
    fc.constant((id: string) => part("file", id, { mime: "text/plain", url: "data:," })),
    fc.constant((id: string) => part("subtask", id, { prompt: "p", description: "d", agent: "explore" })),
    fc.option(fc.nat(9)).map(
      (first) => (id: string) =>
        part("compaction", id, {
          auto: true,
          summary: "s",
          ...(first !== null && { firstKeptEntryId: `msg_${first}` }),
        }),
    ),
  )
  const messages = fc.array(
    fc.record({
      role: fc.constantFrom("user", "assistant", "summary"),
      sealed: fc.boolean(),
      parts: fc.array(build, { maxLength: 5 }),
    }),
    { maxLength: 10 },
  )
  const options = fc.record({
    maxHistory: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
    mark: fc.option(fc.nat(9)),
    atPart: fc.boolean(),
  })

  test("has one result for each call, no empty message, and a user message first", () => {
    fc.assert(
      fc.property(messages, options, (drawn, { maxHistory, mark, atPart }) => {
        let next = 0
        const items = history(
          ...drawn.map(({ role, parts }, at): [Message, ...Part[]] => {
            const message =
              role === "user" ? user(`msg_${at}`) : { ...assistant(`msg_${at}`), summary: role === "summary" }
            return [message, ...parts.map((make) => make(`prt_${next++}`))]
          }),
        ).map((item, at) => ({ ...item, sealed: drawn[at]!.sealed }))
        const marked = mark === null ? undefined : items[mark]
        const partID = atPart ? marked?.parts.at(-1)?.id : undefined
        const before = structuredClone(items)
        expectValid(
          context(items, { maxHistory, ...(marked && { mark: { messageID: marked.message.id, partID } }) }),
        )
        expect(items).toEqual(before)
      }),
      { numRuns: 1000 },
    )
  })
})
