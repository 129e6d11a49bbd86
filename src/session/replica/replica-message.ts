import type { HistoryItem, Message, Part } from "../../protocol/index.ts"
import { emptyReplicaPart, isWhole, partValue, type ReplicaPart, setPart } from "./replica-part.ts"
import type { SessionView } from "./view.ts"

/** One message of the history in a replica. It may be incomplete. */
export interface ReplicaMessage {
  position: number
  messageID: string
  /** Absent as long as only rows of its parts or notes have arrived. */
  message: Message | undefined
  messageVersion: number
  sealed: boolean
  /** How many parts the message has. */
  partCount: number
  parts: (ReplicaPart | undefined)[]
  /** How many of the known parts are whole. */
  wholeParts: number
  /** The newest version of the message row and of the part rows. */
  version: number
  /** The newest version of the message, its parts and their pieces. */
  newest: number
  /** The epoch of the last page that had the message; -1 if it comes from rows only. */
  pagedEpoch: number
  notes: Map<string, { value: unknown; version: number }>
  /** The notes include every note row up to this version. */
  notesVersion: number
  item: HistoryItem | undefined
}

function emptyReplicaMessage(position: number, messageID: string): ReplicaMessage {
  return {
    position,
    messageID,
    message: undefined,
    messageVersion: 0,
    sealed: false,
    partCount: 0,
    parts: [],
    wholeParts: 0,
    version: 0,
    newest: 0,
    pagedEpoch: -1,
    notes: new Map(),
    notesVersion: 0,
    item: undefined,
  }
}

/** The replica message at that position. A different message that was there is dropped. */
export function replicaMessage(view: SessionView, position: number, messageID: string): ReplicaMessage {
  const { internal } = view
  const known = internal.slots.get(position)
  if (known?.messageID === messageID) return known
  const slot = emptyReplicaMessage(position, messageID)
  internal.slots.set(position, slot)
  internal.unfinished.add(position)
  internal.end = Math.max(internal.end, position + 1)
  return slot
}

/** Must be called after every change of a replica message. */
export function markChanged(view: SessionView, slot: ReplicaMessage): void {
  slot.newest = Math.max(slot.newest, slot.version)
  slot.item = undefined
  const isFinished = slot.message !== undefined && slot.wholeParts === slot.partCount
  if (isFinished) view.internal.unfinished.delete(slot.position)
  else view.internal.unfinished.add(slot.position)
}

/** Replaces a part and keeps the count of whole parts up to date. */
export function changePart(
  slot: ReplicaMessage,
  index: number,
  change: (known: ReplicaPart | undefined) => ReplicaPart,
): void {
  const known = slot.parts[index]
  const before = isWhole(known)
  while (slot.parts.length < index) slot.parts.push(undefined)
  const replicaPart = change(known)
  slot.parts[index] = replicaPart
  slot.wholeParts += Number(isWhole(replicaPart)) - Number(before)
  slot.partCount = Math.max(slot.partCount, index + 1)
}

export function putPart(slot: ReplicaMessage, index: number, row: { part: Part; version: number }): void {
  changePart(slot, index, (known) => {
    const replicaPart = known ?? emptyReplicaPart(row.part.id)
    setPart(replicaPart, row.part, row.version)
    return replicaPart
  })
}

export function cutParts(slot: ReplicaMessage, count: number): void {
  for (const replicaPart of slot.parts.splice(count)) if (isWhole(replicaPart)) slot.wholeParts--
}

export function dropMessage(view: SessionView, position: number): void {
  view.internal.slots.delete(position)
  view.internal.unfinished.delete(position)
}

export function clearMessages(view: SessionView): void {
  view.internal.slots.clear()
  view.internal.unfinished.clear()
  view.internal.end = 0
}

/** The message as a page would return it; undefined while its own row is missing. Cached until the next change. */
export function messageItem(slot: ReplicaMessage): HistoryItem | undefined {
  if (slot.message === undefined) return undefined
  slot.item ??= buildItem(slot, slot.message)
  return slot.item
}

function buildItem(slot: ReplicaMessage, message: Message): HistoryItem {
  const notes = [...slot.notes].filter(([, note]) => note.value !== null)
  return {
    position: slot.position,
    version: slot.newest,
    sealed: slot.sealed,
    message,
    parts: slot.parts.flatMap((replicaPart) => (replicaPart ? (partValue(replicaPart) ?? []) : [])),
    ...(notes.length > 0 && { notes: Object.fromEntries(notes.map(([key, note]) => [key, note.value])) }),
  }
}
