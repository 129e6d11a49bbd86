import type { Row } from "../../protocol/index.ts"
import { grownText } from "./grow.ts"
import type { ReplicaMessage } from "./replica-message.ts"
import { isNewPiece, newestOf } from "./replica-part.ts"
import type { RowOf, SessionView } from "./view.ts"

/** True if the row says something that the view does not have: not a second time, and not an older version. */
export function isNews(view: SessionView, row: Row): boolean {
  const { versions, permissionVersions, slots, floor } = view.internal
  if (row.version <= versions.removed) return false
  switch (row.type) {
    case "removed":
      return true
    case "session":
    case "history":
    case "todos":
    case "inbox":
      return row.version > versions[row.type]
    case "permission":
      return row.version > (permissionVersions.get(row.request.id) ?? 0)
    case "message":
    case "part":
    case "piece":
    case "note":
      if (row.version < floor) return false
      return isNewsOfSlot(slots.get(row.position), row)
  }
}

/** True if a history row takes this message out of the view: it is neither newer than the row nor paged in since. */
export function isOutdated(slot: ReplicaMessage, row: RowOf<"history">): boolean {
  return slot.position >= row.keep && slot.pagedEpoch < row.epoch && slot.newest < row.version
}

function isNewsOfSlot(
  slot: ReplicaMessage | undefined,
  row: RowOf<"message" | "part" | "piece" | "note">,
): boolean {
  if (slot === undefined) return true
  if (slot.messageID !== messageIDOf(row)) return row.version > slot.newest
  if (row.type === "message") return row.version > slot.messageVersion
  if (row.type === "note") {
    return row.version > Math.max(slot.notesVersion, slot.notes.get(row.key)?.version ?? 0)
  }
  const replicaPart = slot.entries[row.index]
  if (replicaPart === undefined) return row.version >= slot.messageVersion || row.index < slot.partCount
  if (row.type === "piece") return isNewPiece(replicaPart, row.partID, row)
  if (replicaPart.partID !== row.part.id) return row.version > newestOf(replicaPart)
  // Sealing folds pieces into a row without a newer version if they came with the commit that put it.
  const isFolded = row.version === replicaPart.version && grownText(row.part).length > replicaPart.text.length
  return row.version > replicaPart.version || isFolded
}

function messageIDOf(row: RowOf<"message" | "part" | "piece" | "note">): string {
  if (row.type === "message") return row.message.id
  return row.type === "part" ? row.part.messageID : row.messageID
}
