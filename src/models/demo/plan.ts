import type { MadeCall } from "./turn.ts"
import type { DemoCall, Wish } from "./wish.ts"
import { isLooking } from "./wishes.ts"

export interface Plan {
  /** To be made now; empty when everything is done. */
  calls: DemoCall[]
  /** Left out since the call before it failed, or since the same one failed already. */
  skipped: DemoCall[]
  /** Left out since the tool is not there. */
  unavailable: DemoCall[]
}

/**
 * What is next. Each call of each wish is made once, in order, so there are never more steps than calls: the calls made
 * so far are counted off against the wishes. Looking around is done together, whatever changes something alone.
 */
export function nextCalls(
  wishes: readonly Wish[],
  { made, tools }: { made: readonly MadeCall[]; tools: ReadonlySet<string> },
): Plan {
  const plan: Plan = { calls: [], skipped: [], unavailable: [] }
  const failed = new Set<string>()
  let counted = 0
  for (const wish of wishes) {
    const missing = wish.find((call) => !tools.has(call.tool))
    if (missing) {
      plan.unavailable.push(missing)
      continue
    }
    for (const [i, call] of wish.entries()) {
      const key = JSON.stringify(call)
      const before = wish[i - 1]
      if (failed.has(key) || (before && failed.has(JSON.stringify(before)))) {
        failed.add(key)
        plan.skipped.push(call)
      } else if (counted < made.length) {
        if (made[counted++]!.result?.isError !== false) failed.add(key)
      } else {
        const alone = wish.length > 1 || !isLooking(call.tool)
        if (alone && plan.calls.length > 0) return plan
        plan.calls.push(call)
        if (alone) return plan
      }
    }
  }
  return plan
}
