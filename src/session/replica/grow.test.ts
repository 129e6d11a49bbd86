import { describe, expect, test } from "vitest"
import { completed, everyPart, failed, part, pending, running, text, tool } from "../samples.ts"
import { growingField, grownText, withGrownText } from "./grow.ts"

const growing = [
  [text("prt_a", "said"), "text", "said"],
  [part("reasoning", "prt_a", { text: "thought", time: { start: 1 } }), "text", "thought"],
  [tool("prt_a", pending), "raw", '{"pa'],
  [tool("prt_a", running), "output", ""],
] as const

describe("growing fields", () => {
  test.each(growing)("%#: are found, read and replaced", (each, field, value) => {
    expect(growingField(each)).toBe(field)
    expect(grownText(each)).toBe(value)
    expect(grownText(withGrownText(each, "other"))).toBe("other")
    expect(withGrownText(withGrownText(each, "other"), value)).toEqual(withGrownText(each, value))
  })

  test("do not exist in a settled call or in other kinds of parts", () => {
    const others = everyPart.filter((each) => !["text", "reasoning", "tool"].includes(each.type))
    for (const each of [...others, tool("prt_a", completed("out")), tool("prt_b", failed)]) {
      expect(growingField(each)).toBeUndefined()
      expect(grownText(each)).toBe("")
      expect(withGrownText(each, "other")).toBe(each)
    }
  })
})
