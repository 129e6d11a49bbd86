import {
  type GrowingField,
  type HistoryItem,
  type Part,
  type Row,
  StemmaError,
} from "../../protocol/index.ts"
import { grownText } from "./grow.ts"
import {
  changePart,
  clearMessages,
  cutParts,
  dropMessage,
  putPart,
  type ReplicaMessage,
  replicaMessage,
  settle,
} from "./replica-message.ts"
import { addDelta, addPiece, emptyReplicaPart, endLive, isWhole, newestOf } from "./replica-part.ts"
import { isNews, isOutdated } from "./row-news.ts"
import { type RowOf, type SessionView, viewCount } from "./view.ts"

/*
 * The replica: rows, pages and deltas in, a view of one session out.
 *
 * Rows come as `changes` gives them, in its order, and those of one answer without a page in between. Everything may
 * come twice, and an older row after a newer one is ignored, so that a client may drop off and return with an old cursor
 * at any moment. A `history` row drops what is no longer in the history; a view may also begin in the middle. `missing`
 * then says what to page in, `reducePage` takes it. Deltas are shown at once where they fit and replaced by the rows
 * that follow.
 */

/** Puts one row into the view. True if that changed anything. */
export function reduceRow(view: SessionView, row: Row): boolean {
  checkSession(view, row.sessionID)
  view.internal.heard = Math.max(view.internal.heard, row.version)
  if (!isNews(view, row)) return false
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
      tellCount(view, row.session.history)
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
      settle(view, slot)
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
  view.internal.told = { epoch: 0, count: 0 }
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
  internal.floor = Math.max(internal.floor, row.version)
  view.epoch = Math.max(view.epoch, row.epoch)
  tellCount(view, { epoch: row.epoch, count: 0 })
}

function applyMessage(view: SessionView, row: RowOf<"message">): void {
  const slot = replicaMessage(view, row.position, row.message.id)
  slot.message = row.message
  slot.messageVersion = row.version
  slot.version = Math.max(slot.version, row.version)
  slot.sealed = row.sealed
  // What was put after this row's last change stays: the row may be older than its parts.
  let count = slot.entries.length
  while (count > row.parts) {
    const replicaPart = slot.entries[count - 1]
    if (replicaPart && newestOf(replicaPart) > row.version) break
    count--
  }
  cutParts(slot, count)
  slot.partCount = Math.max(row.parts, count)
  if (row.sealed) for (const replicaPart of slot.entries) if (replicaPart) endLive(replicaPart)
  settle(view, slot)
}

function applyPart(view: SessionView, row: RowOf<"part">): void {
  const slot = replicaMessage(view, row.position, row.part.messageID)
  slot.version = Math.max(slot.version, row.version)
  putPart(slot, row.index, { part: row.part, version: row.version })
  settle(view, slot)
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
  settle(view, slot)
}

/**
 * Takes a page of the history as `history` of a store gives it: whatever the view has and the page tells better is
 * replaced. A page of an older epoch is ignored; one of a newer epoch comes before its `history` row, so everything
 * else that the view has is dropped, since it may be outdated. True if that changed anything.
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
    // Rows that come again must not bring back half of what was just dropped.
    view.internal.floor = Math.max(view.internal.floor, view.internal.heard + 1)
  }
  view.epoch = page.epoch
  tellCount(view, page)
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
    if (!tellsMore(slot, index, { part, version: item.version })) continue
    putPart(slot, index, { part, version: item.version })
    changed = true
  }
  slot.version = Math.max(slot.version, item.version)
  slot.newest = Math.max(slot.newest, item.version)
  if (changed) settle(view, slot)
  return changed
}

function putMessage(slot: ReplicaMessage, item: HistoryItem): true {
  slot.message = item.message
  slot.messageVersion = item.version
  slot.sealed = item.sealed
  if (item.version >= slot.version) cutParts(slot, item.parts.length)
  slot.partCount = Math.max(slot.entries.length, item.parts.length)
  return true
}

/** True if a page knows more about a part than the view. Pieces and rows may overtake a page. */
function tellsMore(slot: ReplicaMessage, index: number, paged: { part: Part; version: number }): boolean {
  const replicaPart = slot.entries[index]
  if (replicaPart?.part === undefined) return paged.version >= slot.messageVersion && index < slot.partCount
  if (paged.version !== slot.newest)
    return paged.version > slot.newest || (!isWhole(replicaPart) && paged.version >= replicaPart.version)
  return !isWhole(replicaPart) || grownText(paged.part).length > replicaPart.text.length
}

/** Notes that came as rows after the page was read stay; the page tells about the others. */
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

/** Shows a bit of text that a run is just saying, if it fits. True if that changed anything. */
export function reduceDelta(
  view: SessionView,
  delta: { messageID: string; partID: string; field: GrowingField; offset: number; delta: string },
): boolean {
  const slot = view.internal.slots.get(viewCount(view) - 1)
  if (slot?.messageID !== delta.messageID || slot.sealed) return false
  const replicaPart = slot.entries.findLast((candidate) => candidate?.partID === delta.partID)
  if (!replicaPart || !addDelta(replicaPart, delta)) return false
  slot.item = undefined
  view.revision++
  return true
}

/** Forgets live text that no row has confirmed: the session is idle, so nobody says it. True if that changed anything. */
export function endDeltas(view: SessionView): boolean {
  const slot = view.internal.slots.get(viewCount(view) - 1)
  const live =
    slot?.entries.filter((replicaPart) => replicaPart !== undefined && replicaPart.live !== "") ?? []
  if (!slot || live.length === 0) return false
  for (const replicaPart of live) endLive(replicaPart!)
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
function tellCount(view: SessionView, history: { epoch: number; count: number }): void {
  const { told } = view.internal
  if (history.epoch < told.epoch) return
  const count = history.epoch > told.epoch ? history.count : Math.max(told.count, history.count)
  view.internal.told = { epoch: history.epoch, count }
}
