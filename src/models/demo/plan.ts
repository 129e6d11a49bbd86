import type { MadeCall } from "./turn.ts"
import type { DemoCall, Wish } from "./wish.ts"
import { isLooking } from "./wishes.ts"

export interface Plan {
  /** The calls to make now; empty when everything is done. */
  calls: DemoCall[]
  /** Skipped because the call before it, or the same call, failed. */
  skipped: DemoCall[]
  /** Skipped because the tool is not available. */
  unavailable: DemoCall[]
}

/**
 * The next calls. Each call of each wish is made once, in order; the calls made so far are matched with the wishes by
 * their number, so there are never more steps than calls. Calls that only read run together; a call that changes
 * something runs alone.
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
