import type { HistoryItem, Message, Part } from "../../protocol/index.ts"
import { emptyReplicaPart, isWhole, partValue, type ReplicaPart, setPart } from "./replica-part.ts"
import type { SessionView } from "./view.ts"

/** One message of the history, as far as it is known. */
export interface ReplicaMessage {
  position: number
  messageID: string
  /** Absent while only parts of it were heard of. */
  message: Message | undefined
  messageVersion: number
  sealed: boolean
  /** How many parts the message has. */
  partCount: number
  entries: (ReplicaPart | undefined)[]
  /** How many of the entries are whole. */
  whole: number
  /** The newest version of the message row and of the part rows. */
  version: number
  /** The newest version of anything, pieces included. */
  newest: number
  /** The epoch of the last page that had it; -1 if it is made of rows only. */
  pagedEpoch: number
  notes: Map<string, { value: unknown; version: number }>
  /** Note rows up to this version are included. */
  notesVersion: number
  item: HistoryItem | undefined
}

function emptySlot(position: number, messageID: string): ReplicaMessage {
  return {
    position,
    messageID,
    message: undefined,
    messageVersion: 0,
    sealed: false,
    partCount: 0,
    entries: [],
    whole: 0,
    version: 0,
    newest: 0,
    pagedEpoch: -1,
    notes: new Map(),
    notesVersion: 0,
    item: undefined,
  }
}

/** The slot of that message; another message that stood there is forgotten. */
export function replicaMessage(view: SessionView, position: number, messageID: string): ReplicaMessage {
  const { internal } = view
  const known = internal.slots.get(position)
  if (known?.messageID === messageID) return known
  const slot = emptySlot(position, messageID)
  internal.slots.set(position, slot)
  internal.unfinished.add(position)
  internal.end = Math.max(internal.end, position + 1)
  return slot
}

/** To be called after every change of a slot. */
export function settle(view: SessionView, slot: ReplicaMessage): void {
  slot.newest = Math.max(slot.newest, slot.version)
  slot.item = undefined
  const isFinished = slot.message !== undefined && slot.whole === slot.partCount
  if (isFinished) view.internal.unfinished.delete(slot.position)
  else view.internal.unfinished.add(slot.position)
}

/** Replaces an entry and keeps count of the whole ones. */
export function changePart(
  slot: ReplicaMessage,
  index: number,
  change: (known: ReplicaPart | undefined) => ReplicaPart,
): void {
  const known = slot.entries[index]
  const before = isWhole(known)
  while (slot.entries.length < index) slot.entries.push(undefined)
  const replicaPart = change(known)
  slot.entries[index] = replicaPart
  slot.whole += Number(isWhole(replicaPart)) - Number(before)
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
  for (const replicaPart of slot.entries.splice(count)) if (isWhole(replicaPart)) slot.whole--
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

/** The message as a page would give it; undefined while its own row is missing. Made once after each change. */
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
    parts: slot.entries.flatMap((replicaPart) => (replicaPart ? (partValue(replicaPart) ?? []) : [])),
    ...(notes.length > 0 && { notes: Object.fromEntries(notes.map(([key, note]) => [key, note.value])) }),
  }
}
