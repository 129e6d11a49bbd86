import { StemmaError } from "../../protocol/error/error.ts"
import type { GrowingField, HistoryItem, Part, Row } from "../../protocol/index.ts"
import { grownText } from "./grow.ts"
import { isNewRow, isOutdated } from "./is-new-row.ts"
import {
  changePart,
  clearMessages,
  cutParts,
  dropMessage,
  markChanged,
  putPart,
  type ReplicaMessage,
  replicaMessage,
} from "./replica-message.ts"
import { addDelta, addPiece, dropDeltaText, emptyReplicaPart, isWhole, newestOf } from "./replica-part.ts"
import { type RowOf, type SessionView, viewCount } from "./view.ts"

/*
 * The replica: rows, pages and deltas in, a view of one session out.
 *
 * Rows must arrive in the order in which `changes` returns them, and the rows of one answer without a page in between.
 * Any row may arrive twice, and a row older than the view's version is ignored, so a client may disconnect at any
 * moment and return with an old cursor. A `history` row drops messages that are no longer in the history. A view may
 * also begin in the middle of a history: `missing` says which positions to page in, and `reducePage` applies the page.
 * Deltas are shown at once where their offset fits, and the rows that follow replace them.
 */

/** Applies one row to the view. Returns true if the view changed. */
export function reduceRow(view: SessionView, row: Row): boolean {
  checkSession(view, row.sessionID)
  view.internal.newestVersion = Math.max(view.internal.newestVersion, row.version)
  if (!isNewRow(view, row)) return false
  applyRow(view, row)
  view.revision++
  return true
}

function applyRow(view: SessionView, row: Row): void {
  const { versions, permissionVersions } = view.internal
  switch (row.type) {
    case "session":
      view.session = row.session
      view.removed = false
      versions.session = row.version
      reportCount(view, row.session.history)
      return
    case "removed":
      applyRemoved(view, row)
      return
    case "history":
      applyHistory(view, row)
      return
    case "message":
      applyMessage(view, row)
      return
    case "part":
      applyPart(view, row)
      return
    case "piece":
      applyPiece(view, row)
      return
    case "note": {
      const slot = replicaMessage(view, row.position, row.messageID)
      slot.notes.set(row.key, { value: row.value ?? null, version: row.version })
      markChanged(view, slot)
      return
    }
    case "todos":
      view.todos = row.todos
      versions.todos = row.version
      return
    case "inbox":
      view.inbox = row.items
      versions.inbox = row.version
      return
    case "permission":
      view.permissions.set(row.request.id, row.request)
      permissionVersions.set(row.request.id, row.version)
  }
}

function applyRemoved(view: SessionView, row: RowOf<"removed">): void {
  clearMessages(view)
  view.session = undefined
  view.todos = []
  view.inbox = []
  view.permissions.clear()
  view.internal.permissionVersions.clear()
  view.removed = true
  view.epoch = 0
  view.internal.reported = { epoch: 0, count: 0 }
  view.internal.versions = { session: 0, history: 0, todos: 0, inbox: 0, removed: row.version }
}

function applyHistory(view: SessionView, row: RowOf<"history">): void {
  const { internal } = view
  for (let position = row.keep; position < internal.end; position++) {
    const slot = internal.slots.get(position)
    if (slot && isOutdated(slot, row)) dropMessage(view, position)
  }
  while (internal.end > row.keep && !internal.slots.has(internal.end - 1)) internal.end--
  internal.versions.history = row.version
  internal.versionFloor = Math.max(internal.versionFloor, row.version)
  view.epoch = Math.max(view.epoch, row.epoch)
  reportCount(view, { epoch: row.epoch, count: 0 })
}

function applyMessage(view: SessionView, row: RowOf<"message">): void {
  const slot = replicaMessage(view, row.position, row.message.id)
  slot.message = row.message
  slot.messageVersion = row.version
  slot.version = Math.max(slot.version, row.version)
  slot.sealed = row.sealed
  // Parts that were put after this row's last change stay: the row may be older than its parts.
  let count = slot.parts.length
  while (count > row.parts) {
    const replicaPart = slot.parts[count - 1]
    if (replicaPart && newestOf(replicaPart) > row.version) break
    count--
  }
  cutParts(slot, count)
  slot.partCount = Math.max(row.parts, count)
  if (row.sealed) for (const replicaPart of slot.parts) if (replicaPart) dropDeltaText(replicaPart)
  markChanged(view, slot)
}

function applyPart(view: SessionView, row: RowOf<"part">): void {
  const slot = replicaMessage(view, row.position, row.part.messageID)
  slot.version = Math.max(slot.version, row.version)
  putPart(slot, row.index, { part: row.part, version: row.version })
  markChanged(view, slot)
}

function applyPiece(view: SessionView, row: RowOf<"piece">): void {
  const slot = replicaMessage(view, row.position, row.messageID)
  const { version, field, offset, text, index } = row
  changePart(slot, index, (known) => {
    const replicaPart = known?.partID === row.partID ? known : emptyReplicaPart(row.partID)
    addPiece(replicaPart, { version, field, offset, text })
    return replicaPart
  })
  slot.newest = Math.max(slot.newest, version)
  markChanged(view, slot)
}

/**
 * Applies a page of the history, as `history` of a store returns it, and replaces messages that the page has in a newer version. A page of an
 * older epoch is ignored. A page of a newer epoch arrives before its `history` row, so every other message of the view
 * is dropped, because it may be outdated. Returns true if the view changed.
 */
export function reducePage(
  view: SessionView,
  page: { items: readonly HistoryItem[]; count: number; epoch: number },
): boolean {
  const first = page.items[0]
  if (first) checkSession(view, first.message.sessionID)
  if (view.removed || page.epoch < view.epoch) return false
  const before = viewCount(view)
  let changed = page.epoch > view.epoch
  if (page.epoch > view.epoch) {
    clearMessages(view)
    // Rows that arrive again must not restore a part of the messages that were just dropped.
    view.internal.versionFloor = Math.max(view.internal.versionFloor, view.internal.newestVersion + 1)
  }
  view.epoch = page.epoch
  reportCount(view, page)
  const version = page.items.reduce((newest, item) => Math.max(newest, item.version), 0)
  for (const item of page.items) if (putItem(view, item, { epoch: page.epoch, version })) changed = true
  changed ||= viewCount(view) !== before
  if (changed) view.revision++
  return changed
}

function putItem(view: SessionView, item: HistoryItem, page: { epoch: number; version: number }): boolean {
  const known = view.internal.slots.get(item.position)
  const isWholeAlready = known !== undefined && !view.internal.unfinished.has(item.position)
  if (known && item.version < known.newest && (isWholeAlready || known.messageID !== item.message.id))
    return false
  const slot = replicaMessage(view, item.position, item.message.id)
  slot.pagedEpoch = page.epoch
  let changed = putNotes(slot, item, page.version)
  if (slot.message === undefined || item.version > slot.messageVersion) {
    if (item.version > slot.newest || !isWholeAlready) changed = putMessage(slot, item)
  }
  for (const [index, part] of item.parts.entries()) {
    if (!pageHasMore(slot, index, { part, version: item.version })) continue
    putPart(slot, index, { part, version: item.version })
    changed = true
  }
  slot.version = Math.max(slot.version, item.version)
  slot.newest = Math.max(slot.newest, item.version)
  if (changed) markChanged(view, slot)
  return changed
}

function putMessage(slot: ReplicaMessage, item: HistoryItem): true {
  slot.message = item.message
  slot.messageVersion = item.version
  slot.sealed = item.sealed
  if (item.version >= slot.version) cutParts(slot, item.parts.length)
  slot.partCount = Math.max(slot.parts.length, item.parts.length)
  return true
}

/**
 * True if a page has a newer or more complete version of a part than the view. Pieces and rows may arrive before an
 * older page.
 */
function pageHasMore(slot: ReplicaMessage, index: number, paged: { part: Part; version: number }): boolean {
  const replicaPart = slot.parts[index]
  if (replicaPart?.part === undefined) return paged.version >= slot.messageVersion && index < slot.partCount
  if (paged.version !== slot.newest)
    return paged.version > slot.newest || (!isWhole(replicaPart) && paged.version >= replicaPart.version)
  return !isWhole(replicaPart) || grownText(paged.part).length > replicaPart.text.length
}

/** Notes that arrived as rows after the page was read stay. The page decides about the others. */
function putNotes(slot: ReplicaMessage, item: HistoryItem, version: number): boolean {
  const later = [...slot.notes].filter(([, note]) => note.version > version)
  const paged = Object.entries(item.notes ?? {}).map(([key, value]) => [key, { value, version }] as const)
  const notes = new Map([...paged, ...later])
  const changed =
    notes.size !== slot.notes.size ||
    [...notes].some(([key, note]) => slot.notes.get(key)?.value !== note.value)
  slot.notes = notes
  slot.notesVersion = Math.max(slot.notesVersion, version)
  return changed
}

/** Shows text that a run is streaming, if its offset fits. Returns true if the view changed. */
export function reduceDelta(
  view: SessionView,
  delta: { messageID: string; partID: string; field: GrowingField; offset: number; delta: string },
): boolean {
  const slot = view.internal.slots.get(viewCount(view) - 1)
  if (slot?.messageID !== delta.messageID || slot.sealed) return false
  const replicaPart = slot.parts.findLast((candidate) => candidate?.partID === delta.partID)
  if (!replicaPart || !addDelta(replicaPart, delta)) return false
  slot.item = undefined
  view.revision++
  return true
}

/**
 * Drops streamed text that no row has confirmed. Call it when the session is idle, because no row will follow. Returns
 * true if the view changed.
 */
export function endDeltas(view: SessionView): boolean {
  const slot = view.internal.slots.get(viewCount(view) - 1)
  const live =
    slot?.parts.filter((replicaPart) => replicaPart !== undefined && replicaPart.deltaText !== "") ?? []
  if (!slot || live.length === 0) return false
  for (const replicaPart of live) dropDeltaText(replicaPart!)
  slot.item = undefined
  view.revision++
  return true
}

function checkSession(view: SessionView, sessionID: string): void {
  view.internal.sessionID ??= sessionID
  if (view.internal.sessionID === sessionID) return
  throw new StemmaError(
    "invalid",
    `This view is of session ${view.internal.sessionID}, not of ${sessionID}. Use one view for each session.`,
  )
}

/** Within an epoch the history only grows. */
function reportCount(view: SessionView, history: { epoch: number; count: number }): void {
  const { reported } = view.internal
  if (history.epoch < reported.epoch) return
  const count = history.epoch > reported.epoch ? history.count : Math.max(reported.count, history.count)
  view.internal.reported = { epoch: history.epoch, count }
}
