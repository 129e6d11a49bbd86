import type { InboxItem } from "../../../protocol/index.ts"
import { payloadHash } from "../../prepare.ts"
import { inboxItemDiffers } from "../../refusals.ts"
import { type CommitContext, requirePublished } from "./commit-write.ts"
import type { Versions } from "./writer.ts"

/**
 * Admits an item to a session's inbox inside the running transaction. A known item with the same payload is a duplicate
 * and changes nothing.
 */
export function admitItem(
  context: CommitContext,
  item: InboxItem,
  versions: Versions,
): { duplicate: boolean } {
  const { db, tails } = context
  const tail = requirePublished(tails.get(item.sessionID))
  const hash = payloadHash(item).subarray(0, 16)
  const known = db.get("SELECT hash FROM inbox WHERE session = ? AND id = ?", tail.key, item.id)
  if (known) {
    if (hash.equals(known[0] as Uint8Array)) return { duplicate: true }
    throw inboxItemDiffers(item.sessionID, item.id)
  }
  db.run(
    "INSERT INTO inbox (session, id, hash, time, data) VALUES (?, ?, ?, ?, ?)",
    tail.key,
    item.id,
    hash,
    context.clock.now(),
    JSON.stringify(item),
  )
  const version = versions.take()
  tail.seq += 1
  db.run(
    "UPDATE tips SET seq = ?, version = ?, inbox = ? WHERE session = ?",
    tail.seq,
    version,
    version,
    tail.key,
  )
  return { duplicate: false }
}
