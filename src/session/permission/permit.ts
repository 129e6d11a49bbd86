import type { Action, Rule, Ruleset, RulesInput } from "../../protocol/index.ts"
import { matchWildcard } from "../text/wildcard.ts"

/** Turns the object form that people write into a list, in the order in which the rules were written. */
export function toRuleset(input: RulesInput | Ruleset): Ruleset {
  if (Array.isArray(input)) return input
  return Object.entries(input).flatMap(([permission, value]) =>
    typeof value === "string"
      ? [{ permission, pattern: "*", action: value }]
      : Object.entries(value).map(([pattern, action]) => ({ permission, pattern, action })),
  )
}

/**
 * The rule that decides about a pattern: the last matching rule of all sets together, in the order config, agent,
 * session. A request that no rule matches is asked about.
 */
export function evaluate(permission: string, pattern: string, ...rulesets: Ruleset[]): Rule {
  for (const ruleset of rulesets.toReversed()) {
    const found = ruleset.findLast(
      (rule) => matchWildcard(permission, rule.permission) && matchWildcard(pattern, rule.pattern),
    )
    if (found) return found
  }
  return { permission, pattern: "*", action: "ask" }
}

/** True if no pattern of this permission can be allowed or asked: a tool that needs it is not offered to the model. */
export function isWhollyDenied(permission: string, ...rulesets: Ruleset[]): boolean {
  const rules = rulesets.flat().filter((rule) => matchWildcard(permission, rule.permission))
  const last = rules.findLastIndex((rule) => rule.pattern === "*")
  return last >= 0 && rules.slice(last).every((rule) => rule.action === "deny")
}

/** A permission request. */
export interface Wanted {
  permission: string
  /** All patterns must be permitted. If empty, the pattern "*" is checked. */
  patterns: readonly string[]
  /** The tool that needs the permission; the permission's name if absent. */
  tool?: string
}

/** The rules of one session: its rulesets in the order config, agent, session, and the tools it switches on or off. */
export interface PermitLevel {
  rulesets: Ruleset[]
  tools?: Record<string, boolean>
}

export interface Decision {
  action: Action
  rule: Rule
  /** The index in the chain of the session that decided: 0 is the session that asks. */
  level: number
}

const strictness: Record<Action, number> = { allow: 0, ask: 1, deny: 2 }

/**
 * Decides a request by the session's own rules and by those of each ancestor. `chain` begins with the session and goes
 * up. The strictest answer wins, so a child may never do more than its parent. A tool that any session in the chain
 * switches off is denied.
 */
export function evaluateWithAncestors(wanted: Wanted, chain: readonly PermitLevel[]): Decision {
  const decisions = chain.map((level, index) => ({ ...decideAtLevel(wanted, level), level: index }))
  const unmatched: Decision = { ...defaultDecision(wanted), level: 0 }
  return decisions.reduce(
    (strictest, next) => (isStricter(next, strictest) ? next : strictest),
    decisions[0] ?? unmatched,
  )
}

function decideAtLevel(wanted: Wanted, level: PermitLevel): Omit<Decision, "level"> {
  const tool = wanted.tool ?? wanted.permission
  if (isSwitchedOff(tool, level.tools)) {
    return { action: "deny", rule: { permission: tool, pattern: "*", action: "deny" } }
  }
  const patterns = wanted.patterns.length > 0 ? wanted.patterns : ["*"]
  return patterns
    .map((pattern) => evaluate(wanted.permission, pattern, ...level.rulesets))
    .map((rule) => ({ action: rule.action, rule }))
    .reduce((strictest, next) => (isStricter(next, strictest) ? next : strictest))
}

/** Tool names may have wildcards. The last matching line wins. */
function isSwitchedOff(tool: string, tools: Record<string, boolean> | undefined): boolean {
  const line = Object.entries(tools ?? {}).findLast(([name]) => matchWildcard(tool, name))
  return line?.[1] === false
}

function defaultDecision(wanted: Wanted): Omit<Decision, "level"> {
  return { action: "ask", rule: { permission: wanted.permission, pattern: "*", action: "ask" } }
}

function isStricter(a: { action: Action }, b: { action: Action }): boolean {
  return strictness[a.action] > strictness[b.action]
}
