import type { Action, Rule, Ruleset } from "../../protocol/index.ts"
import { type OverlapBudget, overlap } from "./pattern-overlap.ts"

const strictness: Record<Action, number> = { allow: 0, ask: 1, deny: 2 }

/** Longer patterns and more rules than this come from nobody who means well. Denials are taken whatever their length. */
const patternCharactersMax = 200
const wishesMax = 200
const rulesMax = 2000

/** How much work may go into the rules of one project, so that no file can keep Stemma busy. */
export function stricterBudget(): OverlapBudget {
  return { steps: 500_000 }
}

/**
 * Rules to put after `base` so that each decision is the stricter one of what `base` says and what `wishes` say; where no
 * wish speaks, `base` decides alone. However the wishes are written, no decision becomes milder: what would take too long is
 * denied, and what is too much is left out and counted.
 *
 * A wish cannot simply be appended, since the later rule wins: an `ask` would lift a denial. So each wish is appended once
 * for every rule of `base` that it meets, as the overlap of both patterns with the stricter of both actions.
 */
export function stricterRules(
  base: Ruleset,
  wishes: Ruleset,
  budget: OverlapBudget = stricterBudget(),
): { rules: Ruleset; left: number } {
  const rules: Rule[] = []
  let left = Math.max(0, wishes.length - wishesMax)
  for (const wish of wishes.slice(0, wishesMax)) {
    if (wish.action === "deny") rules.push(wish)
    else if (tooLong(wish) || rules.length > rulesMax) left += 1
    // With no stricter wish before it, an `allow` has nothing to take back.
    else if (wish.action === "ask" || rules.length > 0) rules.push(...meet(base, wish, budget))
  }
  return { rules, left }
}

const unspoken: Rule = { permission: "*", pattern: "*", action: "ask" }

function meet(base: Ruleset, wish: Rule, budget: OverlapBudget): Rule[] {
  const found: Rule[] = []
  for (const rule of [unspoken, ...base]) {
    const permissions = overlap(rule.permission, wish.permission, budget)
    if (permissions?.length === 0) continue
    const patterns = overlap(rule.pattern, wish.pattern, budget)
    const action = stricter(rule.action, wish.action)
    if (permissions === undefined || patterns === undefined || found.length > rulesMax)
      return [{ ...wish, action: "deny" }]
    for (const permission of permissions)
      for (const pattern of patterns) found.push({ permission, pattern, action })
  }
  const alike = found.every((rule) => rule.action === found[0]!.action)
  return alike ? [{ ...wish, action: found[0]!.action }] : found
}

function stricter(a: Action, b: Action): Action {
  return strictness[a] > strictness[b] ? a : b
}

function tooLong(rule: Rule): boolean {
  return rule.pattern.length > patternCharactersMax || rule.permission.length > patternCharactersMax
}
