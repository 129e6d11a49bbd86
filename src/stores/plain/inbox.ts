import { createHash } from "node:crypto"
import { type InboxItem, StemmaError } from "../../protocol/index.ts"
import type { OpOf } from "../commit.ts"
import { canonicalJson } from "../prepare.ts"
import { type Applied, applyChange, type Change } from "./change.ts"
import { findSession, findVisible } from "./find.ts"
import type { PlainState } from "./model.ts"

/** Names what an item asks for, whenever it was asked. */
export function payloadHash(item: InboxItem): string {
  const { time: _time, ...payload } = item
  return createHash("sha256").update(canonicalJson(payload)).digest("hex")
}

/** Admits a prepared item; `undefined` if it was admitted before. */
export function admitItem(state: PlainState, item: InboxItem): Applied | undefined {
  const session = findVisible(state, item.sessionID)
  const waiting = session.inbox.find((candidate) => candidate.id === item.id)
  const knownHash = waiting ? payloadHash(waiting) : session.taken.get(item.id)?.hash
  if (knownHash === payloadHash(item)) return undefined
  if (knownHash !== undefined) {
    throw new StemmaError(
      "conflict",
      `Item ${item.id} was admitted to session ${item.sessionID} with another payload. Give the new one its own id.`,
      { details: { sessionID: item.sessionID, itemID: item.id } },
    )
  }
  return applyChange(state, (change) => {
    change.touch(session).inbox = true
    change.undo.push(session.inbox, item)
    change.undo.set(session, "inboxVersion", change.version)
  })
}

export function takeItem(change: Change, op: OpOf<"inbox.take">, options: { nowMs: number }): void {
  const session = findSession(change.state, op.sessionID)
  const details = { sessionID: op.sessionID, itemID: op.itemID }
  const item = session.inbox.find((candidate) => candidate.id === op.itemID)
  if (!item) {
    if (session.taken.has(op.itemID)) {
      throw new StemmaError("conflict", `Item ${op.itemID} was taken already. Read the inbox again.`, {
        details,
      })
    }
    throw new StemmaError(
      "not_found",
      `There is no item ${op.itemID} in the inbox of ${op.sessionID}. Read the inbox for the ids it has.`,
      {
        details,
      },
    )
  }
  change.touch(session).inbox = true
  change.undo.set(
    session,
    "inbox",
    session.inbox.filter((candidate) => candidate !== item),
  )
  change.undo.set(session, "inboxVersion", change.version)
  change.undo.mapSet(session.taken, op.itemID, { hash: payloadHash(item), time: options.nowMs })
}
