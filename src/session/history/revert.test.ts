import { describe, expect, test } from "vitest"
import { MessageBody, PartBody } from "../../protocol/index.ts"
import { assistant, completed, history, part, pending, running, text, tool, user } from "../samples.ts"
import { revertPlan, visibleItems } from "./revert.ts"

function counter() {
  let count = 0
  return (kind: string) => `${kind === "message" ? "msg" : "prt"}_new${++count}`
}

const items = history(
  [user("msg_a"), text("prt_a", "one")],
  [
    { ...assistant("msg_b"), finish: "stop", error: { name: "UnknownError", data: { message: "late" } } },
    part("step-start", "prt_b", { prune: { time: 1, parts: ["prt_old", "prt_c"] } }),
    tool("prt_c", completed("out")),
    tool("prt_d", running),
    text("prt_e", "two"),
  ],
  [user("msg_c"), text("prt_f", "three")],
)

const ids = (visible: readonly { message: { id: string } }[]) => visible.map((item) => item.message.id)

describe("a revert mark", () => {
  test("hides its message and everything after it", () => {
    expect(visibleItems(items, undefined)).toBe(items)
    expect(ids(visibleItems(items, { messageID: "msg_c" }))).toEqual(["msg_a", "msg_b"])
    expect(visibleItems(items, { messageID: "msg_a" })).toEqual([])
  })

  test("at a part shows what came before that part", () => {
    const visible = visibleItems(items, { messageID: "msg_b", partID: "prt_d" })
    expect(ids(visible)).toEqual(["msg_a", "msg_b"])
    expect(visible[1]!.parts.map((each) => each.id)).toEqual(["prt_b", "prt_c"])
    expect(ids(visibleItems(items, { messageID: "msg_b", partID: "prt_b" }))).toEqual(["msg_a"])
    expect(items[1]!.parts).toHaveLength(4)
  })

  test("whose message is not in the items hides by position", () => {
    const page = items.slice(2)
    expect(visibleItems(page, { messageID: "msg_b" }, { position: 1 })).toEqual([])
    expect(visibleItems(page, { messageID: "msg_z" }, { position: 9 })).toEqual(page)
    expect(visibleItems(page, { messageID: "msg_z" })).toEqual(page)
  })

  test("at a part that is not there is not found", () => {
    expect(() => visibleItems(items, { messageID: "msg_b", partID: "prt_z" })).toThrow(
      /Part prt_z is not in message/,
    )
  })
})

describe("making a revert permanent", () => {
  test("at a message needs no tail", () => {
    expect(revertPlan(items, { messageID: "msg_c" }, { newID: counter() })).toEqual({ messageID: "msg_c" })
  })

  test("at the first part of a message needs no tail", () => {
    const plan = revertPlan(items, { messageID: "msg_c", partID: "prt_f" }, { newID: counter() })
    expect(plan).toEqual({ messageID: "msg_c" })
  })

  test("at a part appends a cut copy with new ids, with settled calls and without an error or finish", () => {
    const { messageID, tail } = revertPlan(
      items,
      { messageID: "msg_b", partID: "prt_e" },
      { newID: counter() },
    )
    expect(messageID).toBe("msg_b")
    expect(tail!.message).toMatchObject({ id: "msg_new4", parentID: "msg_parent", role: "assistant" })
    expect(tail!.message).not.toHaveProperty("error")
    expect(tail!.message).not.toHaveProperty("finish")
    expect(tail!.message).not.toHaveProperty("sessionID")
    expect(tail!.parts.map((each) => each.id)).toEqual(["prt_new1", "prt_new2", "prt_new3"])
    expect(tail!.parts[0]).toMatchObject({ prune: { parts: ["prt_old", "prt_new2"] } })
    expect(tail!.parts[1]).toMatchObject({ state: { status: "completed", output: "out" } })
    expect(tail!.parts[2]).toMatchObject({ state: { status: "error", time: { start: 5, end: 30 } } })
    expect(MessageBody.safeParse(tail!.message).success).toBe(true)
    for (const each of tail!.parts) {
      expect(PartBody.safeParse(each).success).toBe(true)
      expect(each).not.toHaveProperty("messageID")
    }
  })

  test("settles a call that the model was still writing", () => {
    const open = history([assistant("msg_a"), tool("prt_a", pending), text("prt_b", "x")])
    const { tail } = revertPlan(open, { messageID: "msg_a", partID: "prt_b" }, { newID: counter() })
    expect(tail!.parts[0]).toMatchObject({
      state: { status: "error", error: expect.stringContaining("interrupted") },
    })
  })

  test("of an unknown message is not found", () => {
    expect(() => revertPlan(items, { messageID: "msg_z" }, { newID: counter() })).toThrow(
      /not in the history/,
    )
  })
})
