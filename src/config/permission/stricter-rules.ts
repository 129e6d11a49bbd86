import type { Action, Rule, Ruleset } from "../../protocol/index.ts"
import { type OverlapBudget, overlap } from "./pattern-overlap.ts"

const strictness: Record<Action, number> = { allow: 0, ask: 1, deny: 2 }

/** Longer patterns and more rules than this are made on purpose. A denial is taken whatever its length. */
const patternCharactersMax = 200
const requestedMax = 200
const rulesMax = 2000

/** The work limit for the rules of one project, so that no file can keep Stemma busy. */
export function stricterBudget(): OverlapBudget {
  return { steps: 1_500_000 }
}

/**
 * Rules to append to `base` so that each decision is the stricter one of `base` and `requested`. Where no requested
 * rule matches, `base` decides alone. No decision becomes milder, however the requested rules are written: a rule that
 * would take too long is turned into a denial, and rules beyond the limits are left out and counted.
 *
 * A requested rule cannot simply be appended, because the last matching rule wins: an `ask` would override a denial. So
 * each requested rule is appended once for every rule of `base` that it overlaps with, as the overlap of both patterns
 * with the stricter of both actions.
 */
export function stricterRules(
  base: Ruleset,
  requested: Ruleset,
  budget: OverlapBudget = stricterBudget(),
): { rules: Ruleset; left: number } {
  const rules: Rule[] = []
  let left = Math.max(0, requested.length - requestedMax)
  for (const rule of requested.slice(0, requestedMax)) {
    if (rule.action === "deny") rules.push(rule)
    else if (tooLong(rule) || rules.length > rulesMax) left += 1
    // With no stricter rule before it, an `allow` has nothing to take back.
    else if (rule.action === "ask" || rules.length > 0) rules.push(...stricterOverlaps(base, rule, budget))
  }
  return { rules, left }
}

const unmatched: Rule = { permission: "*", pattern: "*", action: "ask" }

/** The requested rule, split at the rules of `base` that it overlaps with, each with the stricter action. */
function stricterOverlaps(base: Ruleset, requested: Rule, budget: OverlapBudget): Rule[] {
  const found: Rule[] = []
  for (const rule of [unmatched, ...base]) {
    const permissions = overlap(rule.permission, requested.permission, budget)
    if (permissions?.length === 0) continue
    const patterns = overlap(rule.pattern, requested.pattern, budget)
    const action = stricter(rule.action, requested.action)
    if (permissions === undefined || patterns === undefined || found.length > rulesMax)
      return [{ ...requested, action: "deny" }]
    for (const permission of permissions)
      for (const pattern of patterns) found.push({ permission, pattern, action })
  }
  const alike = found.every((rule) => rule.action === found[0]!.action)
  return alike ? [{ ...requested, action: found[0]!.action }] : found
}

function stricter(a: Action, b: Action): Action {
  return strictness[a] > strictness[b] ? a : b
}

function tooLong(rule: Rule): boolean {
  return rule.pattern.length > patternCharactersMax || rule.permission.length > patternCharactersMax
}
