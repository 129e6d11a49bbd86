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

/** A message of an answer that says its own id. */
function says(id: string, parentID: string, fields: Partial<AssistantMessage> = {}): HistoryItem {
  return item(answer(id, parentID, fields), [{ id: `prt_${id}`, type: "text", text: `${id} ` }])
}

function makesRoom(id: string, parentID: string): HistoryItem {
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

const goesOn = { finish: "tool-calls" }
const cutOff = {
  finish: "interrupted",
  error: { name: "InterruptedError" as const, data: { message: "The process that ran it ended." } },
}

/** What the chat of `P` is told of these items: text, and the types of everything else. */
function told(items: readonly HistoryItem[], feed = new ChatFeed("P")): string {
  const events = items.flatMap((one) => feed.item(one))
  return events.map((event) => ("text" in event ? event.text : `<${event.type}>`)).join("")
}

const room = "<compaction_start><compaction_end>"

describe("the answer to a prompt", () => {
  test.each([
    [
      "is what is said from it on until the turn ends",
      [asks("P"), says("a", "P", goesOn), says("b", "P")],
      "a b ",
    ],
    [
      "is nothing of the turns before it and after it",
      [asks("O"), says("o", "O"), asks("P"), says("a", "P"), asks("Q"), says("q", "Q")],
      "a ",
    ],
    [
      "is also what is said to a prompt that steered its turn",
      [asks("P"), says("a", "P", goesOn), asks("Q"), says("b", "Q"), asks("R"), says("r", "R")],
      "a b ",
    ],
    [
      "begins with the prompt, if that one steered a turn",
      [asks("O"), says("o", "O", goesOn), asks("P"), says("a", "P")],
      "a ",
    ],
    [
      "is given to all who steered together",
      [asks("O"), says("o", "O", goesOn), asks("P"), asks("Q"), says("a", "Q")],
      "a ",
    ],
    [
      "goes on after a compaction, which says nothing",
      [asks("P"), says("a", "P", goesOn), makesRoom("c", "P"), asks("ours"), says("b", "P")],
      `a ${room}b `,
    ],
    [
      "goes on where it was cut off",
      [asks("P"), says("a", "P", cutOff), says("b", "P"), asks("Q"), says("q", "Q")],
      "a b ",
    ],
    [
      "goes on where it was cut off, also after a compaction",
      [asks("P"), says("a", "P", cutOff), makesRoom("c", "P"), asks("ours"), says("b", "P")],
      `a ${room}b `,
    ],
    [
      "ends where it was cut off if somebody else is answered next",
      [asks("P"), says("a", "P", cutOff), makesRoom("c", "P"), asks("Q"), says("q", "Q")],
      "a ",
    ],
    [
      "has the room that was made for it",
      [says("o", "O"), makesRoom("c", "O"), asks("P"), says("a", "P")],
      `${room}a `,
    ],
    [
      "has none that was made while it waited",
      [
        asks("O"),
        says("o", "O", goesOn),
        makesRoom("c", "O"),
        asks("ours"),
        says("p", "O"),
        asks("P"),
        says("a", "P"),
      ],
      "a ",
    ],
  ])("%s", (_, items, expected) => {
    const feed = new ChatFeed("P")
    expect(told(items, feed)).toBe(expected)
    expect(feed.isEnded).toBe(true)
    expect(told(items, feed), "what it knows").toBe("")
  })
})

test("an answer that was cut off has no end and a reason, until somebody goes on with it", () => {
  const feed = new ChatFeed("P")
  told([asks("P"), says("a", "P", cutOff)], feed)
  expect([feed.isBegun, feed.isEnded]).toEqual([true, false])
  expect(feed.failure).toMatchObject({ type: "error", name: "InterruptedError" })
  told([asks("P"), says("a", "P", cutOff), says("b", "P", goesOn)], feed)
  expect([feed.isEnded, feed.failure]).toEqual([false, undefined])
})

test("a message that became a summary is none of the answer", () => {
  const feed = new ChatFeed("P")
  const begun = answer("a", "P", { time: { created: 1 } })
  told([asks("P"), item(begun, [])], feed)
  expect(told([makesRoom("a", "P")], feed)).toBe(room)
  expect([feed.isBegun, feed.isEnded]).toEqual([true, false])
})

test("parts of the last message are told, also if they come after its end", () => {
  const feed = new ChatFeed("P")
  const { message, parts } = says("a", "P")
  feed.item(asks("P"))
  expect(feed.event({ type: "message.updated", properties: { info: message } })).toEqual([])
  expect(feed.isEnded).toBe(true)
  expect(feed.event({ type: "message.part.updated", properties: { part: parts[0]! } })).toHaveLength(1)
})

test("calls of two steps with the same id are both told", () => {
  const state = { status: "error", input: {}, error: "no", time: { start: 1, end: 2 } } as const
  const call = (id: string): PartBody => ({ id, type: "tool", callID: "call_0", tool: "read", state })
  const items = ["a", "b"].map((id) => item(answer(id, "P", goesOn), [call(`prt_${id}`)]))
  expect(told([asks("P"), ...items])).toBe("<tool_call><tool_result>".repeat(2))
})
