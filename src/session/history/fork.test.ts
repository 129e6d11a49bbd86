import { describe, expect, test } from "vitest"
import { assistant, history, text, user } from "../samples.ts"
import { forkPlan } from "./fork.ts"

const items = history(
  [user("msg_a"), text("prt_a", "one")],
  [
    assistant("msg_b"),
    text("prt_b", "two"),
    text("prt_c", "three"),
    text("prt_d", "four"),
    text("prt_e", "five"),
  ],
  [user("msg_c"), text("prt_f", "six")],
)

describe("a fork", () => {
  const mark = { messageID: "msg_b", partID: "prt_e" }
  let count = 0
  const newID = (kind: string) => `${kind === "message" ? "msg" : "prt"}_new${++count}`

  test("without a mark at a part has no tail", () => {
    expect(forkPlan(items, { newID })).toEqual({})
    expect(forkPlan(items, { messageID: "msg_c", newID })).toEqual({ messageID: "msg_c" })
    expect(forkPlan(items, { mark: { messageID: "msg_b" }, newID })).toEqual({})
    expect(forkPlan(items, { mark: { messageID: "msg_a", partID: "prt_a" }, newID })).toEqual({})
  })

  test("of a session with a mark at a part has the marked message up to that part as its tail", () => {
    expect(forkPlan(items, { mark, newID }).tail!.parts).toHaveLength(3)
    expect(forkPlan(items, { mark, messageID: "msg_c", newID })).toMatchObject({
      messageID: "msg_c",
      tail: { message: { role: "assistant" } },
    })
  })

  test("before the marked message has no tail", () => {
    expect(forkPlan(items, { mark, messageID: "msg_b", newID })).toEqual({ messageID: "msg_b" })
    expect(forkPlan(items, { mark, messageID: "msg_a", newID })).toEqual({ messageID: "msg_a" })
  })

  test("before an unknown message is not found", () => {
    expect(() => forkPlan(items, { messageID: "msg_z", newID })).toThrow(/not in the history/)
  })
})
