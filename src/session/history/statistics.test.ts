import { describe, expect, test } from "vitest"
import { assistant, completed, failed, history, pending, text, tool, user } from "../samples.ts"
import { statistics } from "./statistics.ts"

const items = history(
  [user("msg_a"), text("prt_a", "Find all .el files")],
  [assistant("msg_b"), tool("prt_b", completed("a.el"), { tool: "glob" })],
  [assistant("msg_c"), text("prt_c", "I found one.")],
  [user("msg_d"), text("prt_d", "Read it")],
  [assistant("msg_e"), tool("prt_e", failed), tool("prt_f", pending)],
)

describe("statistics", () => {
  test("count messages by role and calls by tool", () => {
    expect(statistics(items)).toEqual({
      messages: { user: 2, assistant: 3, tool: 2 },
      calls: { glob: 1, read: 2 },
      tools: ["glob", "read"],
    })
    expect(statistics([])).toEqual({ messages: { user: 0, assistant: 0, tool: 0 }, calls: {}, tools: [] })
  })

  test("count a tool of any name", () => {
    const odd = history([assistant("msg_a"), tool("prt_a", failed, { tool: "__proto__" })])
    expect(Object.entries(statistics(odd).calls)).toEqual([["__proto__", 1]])
  })
})
