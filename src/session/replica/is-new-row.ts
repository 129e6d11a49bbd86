import type { Row } from "../../protocol/index.ts"
import { grownText } from "./grow.ts"
import type { ReplicaMessage } from "./replica-message.ts"
import { isNewPiece, newestOf } from "./replica-part.ts"
import type { RowOf, SessionView } from "./view.ts"

/** True if applying the row would change the view: false for a row that was applied before and for an older version. */
export function isNewRow(view: SessionView, row: Row): boolean {
  const { versions, permissionVersions, slots, versionFloor } = view.internal
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
      if (row.version < versionFloor) return false
      return isNewForMessage(slots.get(row.position), row)
  }
}

/**
 * True if a history row removes this message from the view: the message is neither newer than the row nor paged in
 * since.
 */
export function isOutdated(slot: ReplicaMessage, row: RowOf<"history">): boolean {
  return slot.position >= row.keep && slot.pagedEpoch < row.epoch && slot.newest < row.version
}

function isNewForMessage(
  slot: ReplicaMessage | undefined,
  row: RowOf<"message" | "part" | "piece" | "note">,
): boolean {
  if (slot === undefined) return true
  if (slot.messageID !== messageIDOf(row)) return row.version > slot.newest
  if (row.type === "message") return row.version > slot.messageVersion
  if (row.type === "note") {
    return row.version > Math.max(slot.notesVersion, slot.notes.get(row.key)?.version ?? 0)
  }
  const replicaPart = slot.parts[row.index]
  if (replicaPart === undefined) return row.version >= slot.messageVersion || row.index < slot.partCount
  if (row.type === "piece") return isNewPiece(replicaPart, row.partID, row)
  if (replicaPart.partID !== row.part.id) return row.version > newestOf(replicaPart)
  // Sealing folds pieces into the part's row. If the pieces came with the commit that put the row, the version stays
  // the same.
  const isFolded = row.version === replicaPart.version && grownText(row.part).length > replicaPart.text.length
  return row.version > replicaPart.version || isFolded
}

function messageIDOf(row: RowOf<"message" | "part" | "piece" | "note">): string {
  if (row.type === "message") return row.message.id
  return row.type === "part" ? row.part.messageID : row.messageID
}
