import { describe, expect, test } from "vitest"
import {
  type AssistantMessage,
  type HistoryItem,
  type Message,
  noTokens,
  type Part,
  type PartBody,
} from "../../protocol/index.ts"
import { ChatFeed } from "./chat-feed.ts"

const sessionID = "ses_1"

function item(message: Message, parts: PartBody[]): HistoryItem {
  const all = parts.map((part) => ({ ...part, sessionID, messageID: message.id }) as Part)
  return { position: 0, version: 1, sealed: true, message, parts: all }
}

function asks(id: string): HistoryItem {
  const model = { providerID: "demo", modelID: "demo-1" }
  const message: Message = { id, role: "user", sessionID, time: { created: 1 }, agent: "build", model }
  return item(message, [{ id: `prt_${id}`, type: "text", text: `ask ${id}` }])
}

/** A message of an answer with its own id as text. */
function says(id: string, parentID: string, fields: Partial<AssistantMessage> = {}): HistoryItem {
  return item(answer(id, parentID, fields), [{ id: `prt_${id}`, type: "text", text: `${id} ` }])
}

function compacts(id: string, parentID: string): HistoryItem {
  const part: PartBody = {
    id: `prt_${id}`,
    type: "compaction",
    auto: true,
    summary: "So far",
    tokensAfter: 7,
  }
  return item(answer(id, parentID, { summary: true, finish: "stop" }), [part])
}

function answer(id: string, parentID: string, fields: Partial<AssistantMessage>): AssistantMessage {
  return {
    id,
    role: "assistant",
    sessionID,
    time: { created: 1, completed: 2 },
    parentID,
    providerID: "demo",
    modelID: "demo-1",
    agent: "build",
    path: { cwd: "/", root: "/" },
    cost: 0,
    tokens: noTokens(),
    finish: "stop",
    ...fields,
  }
}

const continues = { finish: "tool-calls" }
const interrupted = {
  finish: "interrupted",
  error: { name: "InterruptedError" as const, data: { message: "The process that ran it ended." } },
}

/** The events that the chat of prompt `P` sends for these items: text, and the types of all other events. */
function textOf(items: readonly HistoryItem[], feed = new ChatFeed("P")): string {
  const events = items.flatMap((one) => feed.item(one))
  return events.map((event) => ("text" in event ? event.text : `<${event.type}>`)).join("")
}

const compactionEvents = "<compaction_start><compaction_end>"

describe("the answer to a prompt", () => {
  test.each([
    [
      "is the text from the prompt until the turn ends",
      [asks("P"), says("a", "P", continues), says("b", "P")],
      "a b ",
    ],
    [
      "has no text of the turns before and after it",
      [asks("O"), says("o", "O"), asks("P"), says("a", "P"), asks("Q"), says("q", "Q")],
      "a ",
    ],
    [
      "includes the reply to a prompt that steered its turn",
      [asks("P"), says("a", "P", continues), asks("Q"), says("b", "Q"), asks("R"), says("r", "R")],
      "a b ",
    ],
    [
      "begins at the prompt, if the prompt steered a turn",
      [asks("O"), says("o", "O", continues), asks("P"), says("a", "P")],
      "a ",
    ],
    [
      "belongs to every prompt that steered the turn",
      [asks("O"), says("o", "O", continues), asks("P"), asks("Q"), says("a", "Q")],
      "a ",
    ],
    [
      "continues after a compaction, which has no text",
      [asks("P"), says("a", "P", continues), compacts("c", "P"), asks("ours"), says("b", "P")],
      `a ${compactionEvents}b `,
    ],
    [
      "continues where it was interrupted",
      [asks("P"), says("a", "P", interrupted), says("b", "P"), asks("Q"), says("q", "Q")],
      "a b ",
    ],
    [
      "continues where it was interrupted, also after a compaction",
      [asks("P"), says("a", "P", interrupted), compacts("c", "P"), asks("ours"), says("b", "P")],
      `a ${compactionEvents}b `,
    ],
    [
      "ends where it was interrupted if another prompt is answered next",
      [asks("P"), says("a", "P", interrupted), compacts("c", "P"), asks("Q"), says("q", "Q")],
      "a ",
    ],
    [
      "includes a compaction that was made for it",
      [says("o", "O"), compacts("c", "O"), asks("P"), says("a", "P")],
      `${compactionEvents}a `,
    ],
    [
      "has no compaction that was made while it waited",
      [
        asks("O"),
        says("o", "O", continues),
        compacts("c", "O"),
        asks("ours"),
        says("p", "O"),
        asks("P"),
        says("a", "P"),
      ],
      "a ",
    ],
  ])("%s", (_, items, expected) => {
    const feed = new ChatFeed("P")
    expect(textOf(items, feed)).toBe(expected)
    expect(feed.isEnded).toBe(true)
    expect(textOf(items, feed), "known items again").toBe("")
  })
})

test("an interrupted answer has no end and a failure, until it is continued", () => {
  const feed = new ChatFeed("P")
  textOf([asks("P"), says("a", "P", interrupted)], feed)
  expect([feed.isStarted, feed.isEnded]).toEqual([true, false])
  expect(feed.failure).toMatchObject({ type: "error", name: "InterruptedError" })
  textOf([asks("P"), says("a", "P", interrupted), says("b", "P", continues)], feed)
  expect([feed.isEnded, feed.failure]).toEqual([false, undefined])
})

test("a message that became a summary is not part of the answer", () => {
  const feed = new ChatFeed("P")
  const started = answer("a", "P", { time: { created: 1 } })
  textOf([asks("P"), item(started, [])], feed)
  expect(textOf([compacts("a", "P")], feed)).toBe(compactionEvents)
  expect([feed.isStarted, feed.isEnded]).toEqual([true, false])
})

test("parts of the last message are sent, also if they arrive after its end", () => {
  const feed = new ChatFeed("P")
  const { message, parts } = says("a", "P")
  feed.item(asks("P"))
  expect(feed.event({ type: "message.updated", properties: { info: message } })).toEqual([])
  expect(feed.isEnded).toBe(true)
  expect(feed.event({ type: "message.part.updated", properties: { part: parts[0]! } })).toHaveLength(1)
})

test("two calls of different steps with the same id are both sent", () => {
  const state = { status: "error", input: {}, error: "no", time: { start: 1, end: 2 } } as const
  const call = (id: string): PartBody => ({ id, type: "tool", callID: "call_0", tool: "read", state })
  const items = ["a", "b"].map((id) => item(answer(id, "P", continues), [call(`prt_${id}`)]))
  expect(textOf([asks("P"), ...items])).toBe("<tool_call><tool_result>".repeat(2))
})
