import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Action, Ruleset } from "../../protocol/index.ts"
import { evaluate, evaluateWithAncestors, type PermitLevel, toRuleset } from "./permit.ts"

describe("a set of rules", () => {
  test("can be written in two forms", () => {
    expect(toRuleset({ edit: "ask", bash: { "*": "ask", "git *": "allow" } })).toEqual([
      { permission: "edit", pattern: "*", action: "ask" },
      { permission: "bash", pattern: "*", action: "ask" },
      { permission: "bash", pattern: "git *", action: "allow" },
    ])
    const rules: Ruleset = [{ permission: "edit", pattern: "*", action: "deny" }]
    expect(toRuleset(rules)).toBe(rules)
  })

  test("asks about a permission that no rule matches", () => {
    expect(evaluate("edit", "a.ts").action).toBe("ask")
    expect(evaluate("edit", "a.ts", toRuleset({ read: "allow" })).action).toBe("ask")
  })

  test("lets the later rule win, and the session over the agent over the config", () => {
    const config = toRuleset({ edit: { "*": "deny", "*.ts": "allow" } })
    expect(evaluate("edit", "a.ts", config).action).toBe("allow")
    expect(evaluate("edit", "a.js", config).action).toBe("deny")
    const agent = toRuleset({ edit: "ask" })
    expect(evaluate("edit", "a.ts", config, agent).action).toBe("ask")
    const session = toRuleset({ "*": "deny" })
    expect(evaluate("edit", "a.ts", config, agent, session).action).toBe("deny")
    expect(evaluate("edit", "a.ts", config, agent, []).action).toBe("ask")
  })

  test("may have wildcards in names", () => {
    const rules = toRuleset({ "mcp_*": "deny", "mcp_docs_?": "allow" })
    expect(evaluate("mcp_files", "x", rules).action).toBe("deny")
    expect(evaluate("mcp_docs_1", "x", rules).action).toBe("allow")
  })
})

const actions: Action[] = ["allow", "ask", "deny"]
const level = (action: Action): PermitLevel => ({ rulesets: [toRuleset({ "*": action })] })
const wanted = { permission: "bash", patterns: ["git status"] }

describe("ancestors", () => {
  test("make the strictest answer win", () => {
    for (const own of actions) {
      for (const parent of actions) {
        const strictest = actions[Math.max(actions.indexOf(own), actions.indexOf(parent))]
        expect(evaluateWithAncestors(wanted, [level(own), level(parent)]).action).toBe(strictest)
      }
    }
    expect(evaluateWithAncestors(wanted, []).action).toBe("ask")
  })

  test("are named by their level when they decide", () => {
    const decision = evaluateWithAncestors(wanted, [level("allow"), level("ask"), level("deny")])
    expect(decision).toMatchObject({ action: "deny", level: 2, rule: { permission: "*", action: "deny" } })
    expect(evaluateWithAncestors(wanted, [level("ask"), level("ask")]).level).toBe(0)
  })

  test("deny a tool that they switch off", () => {
    const parent: PermitLevel = { ...level("allow"), tools: { "*": false, bash: true, "web*": false } }
    const chain = [level("allow"), parent]
    expect(evaluateWithAncestors({ permission: "bash", patterns: ["ls"] }, chain).action).toBe("allow")
    expect(evaluateWithAncestors({ permission: "webfetch", patterns: ["x"] }, chain).action).toBe("deny")
    expect(evaluateWithAncestors({ permission: "edit", patterns: ["a"], tool: "patch" }, chain).action).toBe(
      "deny",
    )
    expect(evaluateWithAncestors({ permission: "edit", patterns: ["a"], tool: "bash" }, chain).action).toBe(
      "allow",
    )
  })

  test("must permit every pattern of a request", () => {
    const rules = { rulesets: [toRuleset({ bash: { "git *": "allow", "rm *": "deny" } })] }
    const judge = (patterns: string[]) =>
      evaluateWithAncestors({ permission: "bash", patterns }, [rules]).action
    expect(judge(["git status", "git log"])).toBe("allow")
    expect(judge(["git status", "ls"])).toBe("ask")
    expect(judge(["git status", "ls", "rm a"])).toBe("deny")
    expect(judge([])).toBe("ask")
  })

  test("never let a child do more than its parent", () => {
    const name = fc.constantFrom("read", "edit", "bash", "*", "e*", "?ead")
    const pattern = fc.constantFrom("*", "a.ts", "*.ts", "git *", "?.ts", "git")
    const rules = fc.array(fc.record({ permission: name, pattern, action: fc.constantFrom(...actions) }), {
      maxLength: 6,
    })
    const levels = fc.record({
      rulesets: fc.array(rules, { maxLength: 3 }),
      tools: fc.dictionary(name, fc.boolean(), { maxKeys: 3 }),
    })
    const request = fc.record({
      permission: fc.constantFrom("read", "edit", "bash"),
      patterns: fc.array(fc.constantFrom("a.ts", "b.js", "git", "git status"), { maxLength: 3 }),
    })
    fc.assert(
      fc.property(request, fc.array(levels, { minLength: 1, maxLength: 4 }), levels, (one, chain, child) => {
        const above = actions.indexOf(evaluateWithAncestors(one, chain).action)
        const below = actions.indexOf(evaluateWithAncestors(one, [child, ...chain]).action)
        expect(below).toBeGreaterThanOrEqual(above)
        const alone = actions.indexOf(evaluateWithAncestors(one, [child]).action)
        expect(below).toBe(Math.max(above, alone))
      }),
    )
  })
})
