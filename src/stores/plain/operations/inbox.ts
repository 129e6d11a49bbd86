import type { InboxItem } from "../../../protocol/index.ts"
import type { OpOf } from "../../commit.ts"
import { payloadHash } from "../../prepare.ts"
import { inboxItemDiffers, inboxItemTaken, noInboxItem } from "../../refusals.ts"
import { type Applied, applyChange, type Change } from "../change.ts"
import type { PlainState } from "../model.ts"
import { findSession, findVisible } from "../read/find.ts"

/** Admits a prepared item. Returns undefined if the same item was admitted before. */
export function admitItem(state: PlainState, item: InboxItem): Applied | undefined {
  const session = findVisible(state, item.sessionID)
  const waiting = session.inbox.find((candidate) => candidate.id === item.id)
  const knownHash = waiting ? payloadHash(waiting).toString("hex") : session.taken.get(item.id)?.hash
  if (knownHash === payloadHash(item).toString("hex")) return undefined
  if (knownHash !== undefined) throw inboxItemDiffers(item.sessionID, item.id)
  return applyChange(state, (change) => {
    change.markChanged(session).inbox = true
    change.undo.push(session.inbox, item)
    change.undo.set(session, "inboxVersion", change.version)
  })
}

export function takeItem(change: Change, op: OpOf<"inbox.take">, options: { nowMs: number }): void {
  const session = findSession(change.state, op.sessionID)
  const item = session.inbox.find((candidate) => candidate.id === op.itemID)
  if (!item) {
    if (session.taken.has(op.itemID)) throw inboxItemTaken(op.sessionID, op.itemID)
    throw noInboxItem(op.sessionID, op.itemID)
  }
  change.markChanged(session).inbox = true
  change.undo.set(
    session,
    "inbox",
    session.inbox.filter((candidate) => candidate !== item),
  )
  change.undo.set(session, "inboxVersion", change.version)
  change.undo.mapSet(session.taken, op.itemID, {
    hash: payloadHash(item).toString("hex"),
    time: options.nowMs,
  })
}
