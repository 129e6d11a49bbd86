import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Action, Rule, Ruleset } from "../../protocol/index.ts"
import { evaluate, matchWildcard, toRuleset } from "../../session/index.ts"
import { overlap } from "./pattern-overlap.ts"
import { stricterRules } from "./stricter-rules.ts"

const strictness = { allow: 0, ask: 1, deny: 2 }
const characters = fc.constantFrom("a", "b", " ", "/", "😀")
const text = fc.array(characters, { maxLength: 7 }).map((all) => all.join(""))
const pattern = fc
  .array(fc.oneof({ weight: 2, arbitrary: characters }, fc.constantFrom("*", "*", "?", " *")), {
    minLength: 1,
    maxLength: 6,
  })
  .map((all) => all.join(""))
const permission = fc.constantFrom("read", "edit", "bash", "*", "re*", "?ash", "b* *")
const rule: fc.Arbitrary<Rule> = fc.record({
  permission,
  pattern: fc.oneof(pattern, fc.constant("*")),
  action: fc.constantFrom<Action>("allow", "ask", "deny"),
})
const rules = fc.array(rule, { maxLength: 6 })
const wanted = fc.record({ permission: fc.constantFrom("read", "edit", "bash", "other"), text })

/** The decision of the requested rules alone; undefined where none of them matches. */
function requestedAction(
  requested: Ruleset,
  asked: { permission: string; text: string },
): Action | undefined {
  return requested.findLast(
    (one) => matchWildcard(asked.permission, one.permission) && matchWildcard(asked.text, one.pattern),
  )?.action
}

describe("stricterRules", () => {
  test("each decision is the stricter one of the base and the requested rules", () => {
    fc.assert(
      fc.property(
        rules,
        rules,
        fc.array(wanted, { minLength: 1, maxLength: 20 }),
        (base, requested, asked) => {
          const both = [...base, ...stricterRules(base, requested).rules]
          for (const one of asked) {
            const alone = evaluate(one.permission, one.text, base).action
            const requestedOne = requestedAction(requested, one) ?? "allow"
            const expected = strictness[requestedOne] > strictness[alone] ? requestedOne : alone
            expect(evaluate(one.permission, one.text, both).action).toBe(expected)
          }
        },
      ),
      { numRuns: 2000 },
    )
  })

  test("requested rules in several layers never make a decision milder", () => {
    fc.assert(
      fc.property(rules, rules, rules, wanted, (base, first, second, asked) => {
        const once = [...base, ...stricterRules(base, first).rules]
        const twice = [...once, ...stricterRules(once, second).rules]
        const before = strictness[evaluate(asked.permission, asked.text, base).action]
        const between = strictness[evaluate(asked.permission, asked.text, once).action]
        const after = strictness[evaluate(asked.permission, asked.text, twice).action]
        expect(before <= between && between <= after).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test("an exception inside a requested denial restores the decision of the base", () => {
    const base = toRuleset({ bash: { "*": "ask", "rm *": "deny" } })
    const requested = toRuleset({ bash: { "*": "deny", "git *": "allow", "rm -i *": "allow" } })
    const both = [...base, ...stricterRules(base, requested).rules]
    expect(evaluate("bash", "git status", both).action).toBe("ask")
    expect(evaluate("bash", "npm test", both).action).toBe("deny")
    expect(evaluate("bash", "rm -i x", both).action).toBe("deny")
  })

  test("an ask does not override a denial", () => {
    const base = toRuleset({ bash: { "*": "allow", "rm *": "deny" } })
    const both = [...base, ...stricterRules(base, toRuleset({ "*": "ask" })).rules]
    expect(evaluate("bash", "ls", both).action).toBe("ask")
    expect(evaluate("bash", "rm x", both).action).toBe("deny")
  })

  test("patterns that would take too long are denied or left out", () => {
    const stars = "*a".repeat(99)
    const base = toRuleset({ bash: { [`${"*b".repeat(60)}*`]: "deny", "*a*b*": "deny" } })
    const requested = Array.from({ length: 500 }, (_, index): Rule => {
      return { permission: "bash", pattern: `${stars.slice(0, 190)}${index}`, action: "ask" }
    })
    const { rules: added, left } = stricterRules(base, requested)
    expect(left).toBe(300)
    const text = "b".repeat(60) + "a".repeat(100)
    expect(evaluate("bash", `${text}7`, [...base, ...added]).action).toBe("deny")
  })
})

describe("overlap", () => {
  test("matches exactly the texts that both patterns match", () => {
    fc.assert(
      fc.property(pattern, pattern, fc.array(text, { minLength: 1, maxLength: 20 }), (a, b, texts) => {
        const both = overlap(a, b, { steps: 100_000 })
        expect(both).toBeDefined()
        for (const one of texts)
          expect(both!.some((each) => matchWildcard(one, each))).toBe(
            matchWildcard(one, a) && matchWildcard(one, b),
          )
      }),
      { numRuns: 3000 },
    )
  })

  test.each([
    ["a*", "*b", ["a*b"]],
    ["git *", "git push*", ["git push*"]],
    ["src/*", "docs/*", []],
    ["x", "x", ["x"]],
    ["*", "anything *", ["anything *"]],
  ])("of %j and %j is %j", (a, b, expected) => {
    expect(overlap(a, b, { steps: 100_000 })).toEqual(expected)
  })

  test("is unknown for text that is not well-formed", () => {
    expect(overlap("\ud83d?", "a*", { steps: 100_000 })).toBeUndefined()
  })
})
