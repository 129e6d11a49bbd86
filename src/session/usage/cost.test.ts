import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { noTokens } from "../../protocol/index.ts"
import { addCost, costOf, fromPico, toPico } from "./cost.ts"

describe("dollars as units of 1e-12", () => {
  test("are exact from the shortest decimal text", () => {
    expect(toPico(0)).toBe(0n)
    expect(toPico(1)).toBe(1_000_000_000_000n)
    expect(toPico(0.1)).toBe(100_000_000_000n)
    expect(toPico(1e-12)).toBe(1n)
    expect(toPico(1.5e-7)).toBe(150_000n)
    expect(toPico(1e21)).toBe(10n ** 33n)
    expect(toPico(1.5e300)).toBe(15n * 10n ** 311n)
    expect(toPico(-0.25)).toBe(-250_000_000_000n)
  })

  test("are rounded half up beyond twelve decimals", () => {
    expect(toPico(4e-13)).toBe(0n)
    expect(toPico(5e-13)).toBe(1n)
    expect(toPico(1.4e-12)).toBe(1n)
    expect(toPico(1.5e-12)).toBe(2n)
    expect(toPico(-5e-13)).toBe(-1n)
    expect(toPico(5e-324)).toBe(0n)
  })

  test("refuse what is not an amount", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => toPico(value)).toThrow(/finite number/)
  })

  test("convert back exactly, below 4,000 dollars", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 4n * 10n ** 15n }), (pico) => {
        expect(toPico(fromPico(pico))).toBe(pico)
        expect(toPico(fromPico(-pico))).toBe(-pico)
      }),
    )
  })
})

describe("the cost of a call", () => {
  const price = { input: 3, output: 15, cache: { read: 0.3, write: 3.75 } }

  test("adds input, output, cache and reasoning at the output price", () => {
    const tokens = { input: 1_000_000, output: 100_000, reasoning: 100_000, cache: { read: 10, write: 100 } }
    expect(costOf(tokens, price)).toBe(6.000378)
    expect(costOf(noTokens(), price)).toBe(0)
    expect(costOf({ ...noTokens(), cache: { read: 1e6, write: 1e6 } }, { input: 1, output: 1 })).toBe(0)
  })

  test("has no rounding drift where plain numbers have it", () => {
    expect(costOf({ ...noTokens(), input: 3 }, { input: 0.1, output: 0 })).toBe(3e-7)
    expect(addCost(0.1, 0.2)).toBe(0.3)
  })

  test("keeps prices of more than six decimals until the end", () => {
    expect(costOf({ ...noTokens(), input: 1_000_000 }, { input: 1.2e-9, output: 0 })).toBe(1.2e-9)
    expect(costOf({ ...noTokens(), input: 5, output: 5 }, { input: 1e-7, output: 1e-7 })).toBe(1e-12)
  })

  test("ten thousand costs add up to their exact sum", () => {
    const tokens = fc.record({
      input: fc.nat(200_000),
      output: fc.nat(10_000),
      reasoning: fc.nat(10_000),
      cache: fc.record({ read: fc.nat(200_000), write: fc.nat(50_000) }),
    })
    const cents = fc.nat(2000)
    fc.assert(
      fc.property(
        fc.array(tokens, { minLength: 100, maxLength: 100 }),
        fc.tuple(cents, cents, cents, cents),
        (calls, [input, output, read, write]) => {
          // Prices in cents per million: one token costs 10,000 units of 1e-12 for each cent.
          const used = {
            input: input / 100,
            output: output / 100,
            cache: { read: read / 100, write: write / 100 },
          }
          const exact = calls.reduce((sum, { input: i, output: o, reasoning: r, cache: c }) => {
            return sum + BigInt(i * input + (o + r) * output + c.read * read + c.write * write) * 10_000n
          }, 0n)
          let sum = 0
          for (let round = 0; round < 100; round++)
            for (const each of calls) sum = addCost(sum, costOf(each, used))
          // Sums far above 4,000 dollars, but with prices of at most eight decimals.
          expect(sum).toBe(fromPico(exact * 100n))
        },
      ),
      { numRuns: 10 },
    )
  })
})
