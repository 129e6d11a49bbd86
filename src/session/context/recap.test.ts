import { describe, expect, test } from "vitest"
import { assistant, completed, failed, history, part, pending, text, tool, user } from "../samples.ts"
import { recap } from "./recap.ts"

const whole = { textMax: 1000, outputMax: 1000 }

describe("a recap", () => {
  test("has a text for each message, with its role, tool calls and results", () => {
    const items = history(
      [
        user("msg_a"),
        text("prt_a", "Mend the parser."),
        part("file", "prt_b", { mime: "image/png", url: "data:,", filename: "shot.png" }),
        part("subtask", "prt_c", { prompt: "Look for it.", description: "d", agent: "explore" }),
      ],
      [
        assistant("msg_b"),
        text("prt_d", "I look."),
        tool("prt_e", completed("found")),
        tool("prt_f", failed),
        tool("prt_g", pending),
        part("patch", "prt_h", { hash: "1", files: ["a.ts", "b.ts"] }),
      ],
    )
    expect(recap(items, whole)).toEqual([
      "[user] Mend the parser.\n[user] (file: shot.png)\n[user] Task for @explore: Look for it.",
      [
        "[assistant] I look.",
        '[call] read {"path":"a.ts"}',
        "[result] found",
        '[call] read {"path":"a.ts"}',
        "[error] no such file",
        "[call] read {}",
        "[error] It was cut off.",
        "[files changed] a.ts, b.ts",
      ].join("\n"),
    ])
  })

  test("leaves out reasoning, ignored text, and messages that become empty", () => {
    const items = history(
      [user("msg_a"), text("prt_a", "for people", { ignored: true })],
      [assistant("msg_b"), part("reasoning", "prt_b", { text: "hm", time: { start: 1 } })],
      [{ ...assistant("msg_c"), summary: true }, part("compaction", "prt_c", { auto: true, summary: "s" })],
      [user("msg_d"), text("prt_d", "Go on.", { synthetic: true })],
    )
    expect(recap(items, whole)).toEqual(["[note] Go on."])
  })

  test("cuts long text in the middle and says how much is missing", () => {
    const items = history(
      [user("msg_a"), text("prt_a", `begin${"x".repeat(500)}end`)],
      [assistant("msg_b"), tool("prt_b", completed(`first${"y".repeat(500)}last`))],
    )
    const [said, called] = recap(items, { textMax: 20, outputMax: 30 })
    expect(said).toBe("[user] beginxxxxxxx [... 488 characters ...] xxxxxend")
    expect(called).toContain("[result] firsty")
    expect(called).toMatch(/\[\.\.\. 479 characters \.\.\.\] y+last$/)
  })

  test("never leaves half a character", () => {
    const items = history([user("msg_a"), text("prt_a", "👩".repeat(50))])
    for (let textMax = 1; textMax < 30; textMax++) {
      expect(recap(items, { textMax, outputMax: 1 })[0]!.isWellFormed()).toBe(true)
    }
  })
})
