import { type HistoryItem, type NewID, SessionIDs } from "../../protocol/index.ts"
import type { Engine } from "../engine.ts"

/** Among these last messages is the one with the highest id: a prompt gets its id before it gets its position. */
const lastItems = 8

/** Ids above those at the end of a history. */
export function idsAfter(items: readonly HistoryItem[], newID: NewID): SessionIDs {
  const ids = new SessionIDs(newID)
  for (const { message } of items.slice(-lastItems)) ids.startAbove("message", message.id)
  const last = items.at(-1)
  // An open answer continues with higher part ids. The part ids of a prompt are the caller's own.
  if (last?.message.role === "assistant") for (const { id } of last.parts) ids.startAbove("part", id)
  return ids
}

/** The id of a new prompt: above that of the last message, which another process or another program may have chosen. */
export async function promptID({ store, newID }: Engine, sessionID: string): Promise<string> {
  const { items } = await store.history(sessionID, { limit: 1 })
  return idsAfter(items, newID).next("message")
}
