import { StemmaError } from "../../protocol/error/error.ts"
import type { HistoryItem, IDKind, MessageBody, PartBody, Revert } from "../../protocol/index.ts"
import { interruptTool } from "../context/interrupt.ts"

/** Where a revert cuts the history: before a message, or before one of its parts. */
export type RevertMark = Pick<Revert, "messageID" | "partID">

/** A cut copy of a message, with new ids. The store appends it as a sealed message. */
export interface CutMessage {
  message: MessageBody
  parts: PartBody[]
}

type NewID = (kind: IDKind) => string

/**
 * The items that a revert mark does not hide. If the mark is at a part, the marked message is included up to that part.
 * If `items` may lack the marked message, pass its `position`; without a position nothing is hidden then.
 */
export function visibleItems(
  items: readonly HistoryItem[],
  mark: RevertMark | undefined,
  options?: { position?: number },
): readonly HistoryItem[] {
  if (mark === undefined) return items
  const at = items.findIndex((item) => item.message.id === mark.messageID)
  const marked = items[at]
  if (marked === undefined) {
    const { position } = options ?? {}
    return position === undefined ? items : items.filter((item) => item.position < position)
  }
  const before = items.slice(0, at)
  if (mark.partID === undefined) return before
  const parts = marked.parts.slice(0, partIndex(marked, mark.partID))
  return parts.length === 0 ? before : [...before, { ...marked, parts }]
}

/**
 * The arguments of the `history.move` operation that makes a revert permanent: the history ends before `messageID`, and
 * `tail`, if any, is appended: the marked message up to the marked part. `items` must include the marked message.
 */
export function revertPlan(
  items: readonly HistoryItem[],
  mark: RevertMark,
  options: { newID: NewID },
): { messageID: string; tail?: CutMessage } {
  const { messageID } = mark
  const tail = cutTail(findItem(items, messageID), mark.partID, options.newID)
  return tail ? { messageID, tail } : { messageID }
}

export function findItem(items: readonly HistoryItem[], messageID: string): HistoryItem {
  const found = items.find((item) => item.message.id === messageID)
  if (found) return found
  throw new StemmaError("not_found", `Message ${messageID} is not in the history. Read the history again.`)
}

/**
 * A copy of the message with the parts before `partID`. Undefined if no part comes before it, or if `partID` is
 * undefined.
 */
export function cutTail(item: HistoryItem, partID: string | undefined, newID: NewID): CutMessage | undefined {
  if (partID === undefined) return undefined
  const kept = item.parts.slice(0, partIndex(item, partID))
  if (kept.length === 0) return undefined
  const ids = new Map(kept.map((part) => [part.id, newID("part")]))
  const atMs =
    (item.message.role === "assistant" ? item.message.time.completed : undefined) ?? item.message.time.created
  return {
    message: copyMessage(item, newID("message")),
    parts: kept.map(({ sessionID: _, messageID: __, ...part }) => copyPart(part as PartBody, { ids, atMs })),
  }
}

/** The copy drops `error` and `finish`, because the message now ends where it was cut. */
function copyMessage(item: HistoryItem, id: string): MessageBody {
  const { sessionID: _, ...message } = item.message
  if (message.role === "user") return { ...message, id }
  const { error: _error, finish: _finish, ...rest } = message
  return { ...rest, id }
}

function copyPart(part: PartBody, options: { ids: Map<string, string>; atMs: number }): PartBody {
  const renamed = { ...part, id: options.ids.get(part.id)! }
  if (renamed.type === "tool") return { ...renamed, state: interruptTool(renamed.state, options.atMs) }
  if (renamed.type === "step-start" && renamed.prune) {
    const parts = renamed.prune.parts.map((id) => options.ids.get(id) ?? id)
    return { ...renamed, prune: { ...renamed.prune, parts } }
  }
  return renamed
}

function partIndex(item: HistoryItem, partID: string): number {
  const index = item.parts.findIndex((part) => part.id === partID)
  if (index >= 0) return index
  throw new StemmaError(
    "not_found",
    `Part ${partID} is not in message ${item.message.id}. Name one of its parts, or the whole message.`,
  )
}
