import type { HistoryItem, Session } from "../../protocol/index.ts"
import { isTitleFrom, namesakesMax } from "../../session/index.ts"
import type { Store } from "../../stores/store.ts"

/**
 * True if a session's title came from a message at or after the given item (or, in that item, at or after the part).
 */
export async function isTitleFromRest(
  store: Store,
  { id, title }: Session,
  { from: { position }, partID }: { from: HistoryItem; partID?: string | undefined },
): Promise<boolean> {
  if (position >= namesakesMax) return false
  const query = { from: position, to: namesakesMax, take: "start", limit: namesakesMax } as const
  const { items } = await store.history(id, query)
  if (partID === undefined || !items[0]) return isTitleFrom(title, items)
  const [first, ...rest] = items
  const parts = first.parts.slice(first.parts.findIndex((part) => part.id === partID))
  return isTitleFrom(title, [{ ...first, parts }, ...rest])
}
