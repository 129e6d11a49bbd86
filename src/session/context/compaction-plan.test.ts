import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { assistant, history, part, text, user } from "../samples.ts"
import { isGoingOn, isTurnStart, planTail } from "./compaction-plan.ts"

/** "u" is a prompt, "g" the synthetic prompt that continues a turn after a compaction, "a" a step. */
function items(roles: string) {
  return history(
    ...[...roles].map((role, at): Parameters<typeof history>[number] => {
      if (role === "a") return [assistant(`msg_${at}`)]
      return [user(`msg_${at}`), text(`prt_${at}`, "words", role === "g" ? { synthetic: true } : {})]
    }),
  )
}

/** The tail that stays of a history in which each item has 10 tokens, or the tokens in `sizes`. */
function tail(
  roles: string,
  options: { tailTokens?: number; keepTurns?: number; stepTokensMax?: number; sizes?: number[] },
) {
  const { sizes, tailTokens = 0, ...rest } = options
  return roles.slice(
    planTail(items(roles), { tailTokens, ...rest, tokensAt: (index) => sizes?.[index] ?? 10 }),
  )
}

describe("the tail that a compaction keeps", () => {
  test("is as many whole turns as fit", () => {
    expect(tail("uauaua", { tailTokens: 20 })).toBe("ua")
    expect(tail("uauaua", { tailTokens: 39 })).toBe("ua")
    expect(tail("uauaua", { tailTokens: 40 })).toBe("uaua")
    expect(tail("uauaua", { tailTokens: 1000 })).toBe("uauaua")
  })

  test("is the last steps of a turn that does not fit as a whole", () => {
    expect(tail("uauaaaaa", { tailTokens: 35 })).toBe("aaa")
    expect(tail("uauaaaaag", { tailTokens: 35 })).toBe("aag")
  })

  test("is the last step if it is too long for the tail but within stepTokensMax, else nothing", () => {
    const sizes = [10, 10, 10, 500]
    expect(tail("uaua", { tailTokens: 30, stepTokensMax: 500, sizes })).toBe("a")
    expect(tail("uaua", { tailTokens: 30, stepTokensMax: 499, sizes })).toBe("")
    expect(tail("uaua", { tailTokens: 30, sizes })).toBe("")
  })

  test("is exactly keepTurns turns if given, however long they are", () => {
    expect(tail("uauaaauaa", { keepTurns: 1 })).toBe("uaa")
    expect(tail("uauaaauaa", { keepTurns: 2 })).toBe("uaaauaa")
    expect(tail("uauaaauaa", { keepTurns: 9 })).toBe("uauaaauaa")
    expect(tail("uauaaauaa", { keepTurns: 0 })).toBe("")
    expect(tail("uaaaga", { keepTurns: 1 })).toBe("uaaaga")
  })

  test("never exceeds its limits, and begins with a turn whenever a whole turn fits", () => {
    const roles = fc.string({ unit: fc.constantFrom("u", "a", "a", "g"), maxLength: 30 })
    const numbers = fc.record({ tailTokens: fc.nat(200), stepTokensMax: fc.nat(200) })
    fc.assert(
      fc.property(roles, numbers, fc.array(fc.nat(80), { minLength: 30 }), (value, bounds, sizes) => {
        const kept = tail(value, { ...bounds, sizes })
        const sum = (from: number) => sizes.slice(from, value.length).reduce((a, b) => a + b, 0)
        const start = value.length - kept.length
        const isOne = kept.length === 1
        expect(sum(start)).toBeLessThanOrEqual(
          isOne ? Math.max(bounds.tailTokens, bounds.stepTokensMax) : bounds.tailTokens,
        )
        const lastTurn = value.lastIndexOf("u")
        if (start > 0 && lastTurn >= 0 && sum(lastTurn) <= bounds.tailTokens) expect(kept[0]).toBe("u")
      }),
    )
  })

  test("takes time in proportion to the tail, not to what is hidden", () => {
    const all = items("ua".repeat(1000))
    let looked = 0
    const cut = planTail(all, {
      tailTokens: 100,
      tokensAt: () => {
        looked++
        return 10
      },
    })
    expect(all.length - cut).toBe(10)
    expect(looked).toBeLessThan(15)
  })
})

test("a turn begins with a prompt, not with the synthetic prompt after a compaction", () => {
  const [prompt, going, step] = items("uga")
  expect([prompt, going, step].map((item) => isTurnStart(item!))).toEqual([true, false, false])
  expect(isGoingOn(going!.parts)).toBe(true)
  expect(isGoingOn([])).toBe(false)
  const file = part("file", "prt_file", { mime: "image/png", url: "data:," })
  expect(isGoingOn([...going!.parts, file])).toBe(false)
})
