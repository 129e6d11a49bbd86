import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { assistant, history, text, user } from "../samples.ts"
import { trimItems } from "./trim.ts"

/** "u" is a user message, "a" an assistant message. */
function items(roles: string) {
  return history(
    ...[...roles].map((role, at) => [role === "u" ? user(`msg_${at}`) : assistant(`msg_${at}`)] as [never]),
  )
}

function trimmed(roles: string, maxHistory: number | undefined): string {
  return trimItems(items(roles), maxHistory)
    .map((item) => (item.message.role === "user" ? "u" : "a"))
    .join("")
}

describe("trimming", () => {
  test("leaves out the oldest first and starts at a user message", () => {
    expect(trimmed("uauaua", undefined)).toBe("uauaua")
    expect(trimmed("uauaua", 6)).toBe("uauaua")
    expect(trimmed("uauaua", 5)).toBe("uaua")
    expect(trimmed("uauaua", 4)).toBe("uaua")
    expect(trimmed("uaaaua", 4)).toBe("ua")
  })

  test("never cuts into the last turn", () => {
    expect(trimmed("uauaaaa", 2)).toBe("uaaaa")
    expect(trimmed("uaaaa", 1)).toBe("uaaaa")
    expect(trimmed("aaaa", 1)).toBe("aaaa")
  })

  test("does not start at the synthetic prompt after a compaction", () => {
    const step = (id: string) => [assistant(id)] as [never]
    const all = history(
      [user("msg_a"), text("prt_a", "do it")],
      step("msg_b"),
      [{ ...assistant("msg_c"), summary: true }],
      [user("msg_d"), text("prt_d", "Go on.", { synthetic: true })],
      step("msg_e"),
    )
    expect(trimItems(all, 2)).toEqual(all)
    // A synthetic prompt that does not follow a compaction begins a turn like any other.
    expect(trimItems(all.toSpliced(2, 1), 2)).toHaveLength(2)
  })

  test("keeps a tail that begins with a turn and includes the last turn", () => {
    const roles = fc.string({ unit: fc.constantFrom("u", "a"), maxLength: 20 })
    fc.assert(
      fc.property(roles, fc.integer({ min: 1, max: 20 }), (value, maxHistory) => {
        const kept = trimmed(value, maxHistory)
        expect(value.endsWith(kept)).toBe(true)
        const lastTurn = value.slice(Math.max(0, value.lastIndexOf("u")))
        expect(kept.length).toBeGreaterThanOrEqual(lastTurn.length)
        if (kept !== value) expect(kept[0]).toBe("u")
        if (value.includes("u"))
          expect(kept.length).toBeLessThanOrEqual(
            Math.max(maxHistory, value.length - value.lastIndexOf("u"), kept === value ? value.length : 0),
          )
      }),
    )
  })
})
