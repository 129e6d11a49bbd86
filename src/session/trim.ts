import type { HistoryItem } from "../protocol/index.ts"

/**
 * The last `maxHistory` items, or somewhat fewer: what stays begins with a user message, so that no turn is cut. The last
 * turn stays whole, even if it is longer.
 */
export function trimItems(
  items: readonly HistoryItem[],
  maxHistory: number | undefined,
): readonly HistoryItem[] {
  if (maxHistory === undefined || items.length <= maxHistory) return items
  const isUser = (item: HistoryItem) => item.message.role === "user"
  const cut = items.length - maxHistory
  const next = items.findIndex((item, index) => index >= cut && isUser(item))
  const start = next >= 0 ? next : items.findLastIndex(isUser)
  return start <= 0 ? items : items.slice(start)
}
