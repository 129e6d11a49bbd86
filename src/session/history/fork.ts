import type { HistoryItem, IDKind } from "../../protocol/index.ts"
import { type CutMessage, cutTail, findItem, type RevertMark } from "./revert.ts"

/**
 * The arguments of the `session.fork` operation for a fork before `messageID`, or of the whole history without it. The
 * store leaves out messages that the source's revert mark hides. If the mark is at a part, the fork gets a copy of the
 * marked message up to that part as `tail`. `items` must include `messageID` and, if the mark is at a part, the marked
 * message.
 */
export function forkPlan(
  items: readonly HistoryItem[],
  options: { mark?: RevertMark; messageID?: string; newID: (kind: IDKind) => string },
): { messageID?: string; tail?: CutMessage } {
  const { mark, messageID, newID } = options
  const plan = messageID === undefined ? {} : { messageID }
  const cutAt = messageID === undefined ? undefined : findItem(items, messageID).position
  if (mark?.partID === undefined) return plan
  const marked = findItem(items, mark.messageID)
  if (cutAt !== undefined && cutAt <= marked.position) return plan
  const tail = cutTail(marked, mark.partID, newID)
  return tail ? { ...plan, tail } : plan
}
