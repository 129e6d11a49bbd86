import type { HistoryItem } from "../../protocol/index.ts"
import { isGoingOn } from "./compaction-plan.ts"

/**
 * The last `maxHistory` items or fewer: the result begins with a user message, so that no turn is cut. The last turn
 * stays whole, even if it is longer than `maxHistory`.
 */
export function trimItems(
  items: readonly HistoryItem[],
  maxHistory: number | undefined,
): readonly HistoryItem[] {
  const start = trimStart(items, { maxHistory })
  return start === 0 ? items : items.slice(start)
}

/**
 * The index of the first item that stays, among the items from `from` on. Takes time in proportion to the items that
 * stay.
 */
export function trimStart(
  items: readonly HistoryItem[],
  { maxHistory, from = 0 }: { maxHistory: number | undefined; from?: number },
): number {
  if (maxHistory === undefined || items.length - from <= maxHistory) return from
  const cut = items.length - maxHistory
  for (let index = cut; index < items.length; index++) if (mayBegin(items, index)) return index
  for (let index = cut - 1; index > from; index--) if (mayBegin(items, index)) return index
  return from
}

/** True for a user message, except the synthetic prompt after a compaction, which is in the middle of a turn. */
function mayBegin(items: readonly HistoryItem[], index: number): boolean {
  const { message, parts } = items[index]!
  if (message.role !== "user") return false
  const before = items[index - 1]?.message
  return !(before?.role === "assistant" && before.summary && isGoingOn(parts))
}
