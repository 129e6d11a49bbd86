import { idPattern } from "../protocol/index.ts"
import { cleanText } from "../session/text/clean-text.ts"
import type { Commit, Op } from "./commit.ts"
import { unusual } from "./hot-shapes.ts"
import { usualOp } from "./usual-ops.ts"

/**
 * A copy of a commit that does only what every answer does, checked at a tenth of what the schema costs: by hand what
 * streaming does many times a second (a piece, a plain text part). Undefined for everything else, and for whatever looks unusual: the schema
 * decides then, so both accept and refuse alike.
 */
export function prepareHot(commit: Commit): Commit | undefined {
  if (typeof commit !== "object" || commit === null) return undefined
  const { ops, fences, expectSeq } = commit
  if (expectSeq !== undefined || !Array.isArray(ops) || ops.length === 0 || ops.length > 8) return undefined
  const copies: Op[] = []
  for (const op of ops) {
    const copy = hotOp(op) ?? usualOp(op)
    if (copy === unusual) return undefined
    copies.push(copy as Op)
  }
  if (fences === undefined) return { ops: copies }
  const checked = hotFences(fences)
  return checked && { ops: copies, fences: checked }
}

function hotFences(fences: Record<string, number>): Record<string, number> | undefined {
  if (typeof fences !== "object" || fences === null || Array.isArray(fences)) return undefined
  const copy: Record<string, number> = {}
  for (const id of Object.keys(fences)) {
    const fence = fences[id]!
    if (!isID(sessionPattern, id) || !Number.isSafeInteger(fence) || fence <= 0) return undefined
    copy[id] = fence
  }
  return copy
}

function hotOp(op: Op): Op | undefined {
  if (typeof op !== "object" || op === null) return undefined
  if (op.op === "piece.add") {
    const { sessionID, messageID, partID, field, offset, text } = op
    if (!isID(sessionPattern, sessionID) || !isID(messagePattern, messageID) || !isID(partPattern, partID))
      return undefined
    if (field !== "text" && field !== "raw" && field !== "output") return undefined
    if (!Number.isSafeInteger(offset) || offset < 0 || typeof text !== "string") return undefined
    // Adding 0 makes 0 of -0.
    return { op: "piece.add", sessionID, messageID, partID, field, offset: offset + 0, text: cleanText(text) }
  }
  if (op.op === "part.put") {
    const { sessionID, messageID, part, grown } = op
    if (!isID(sessionPattern, sessionID) || !isID(messagePattern, messageID) || grown !== undefined)
      return undefined
    if (typeof part !== "object" || part === null || part.type !== "text") return undefined
    if (!isID(partPattern, part.id) || typeof part.text !== "string") return undefined
    for (const name in part) if (name !== "id" && name !== "type" && name !== "text") return undefined
    return {
      op: "part.put",
      sessionID,
      messageID,
      part: { id: part.id, type: "text", text: cleanText(part.text) },
    }
  }
  return undefined
}

const sessionPattern = idPattern("session")
const messagePattern = idPattern("message")
const partPattern = idPattern("part")

function isID(pattern: RegExp, id: unknown): boolean {
  return typeof id === "string" && pattern.test(id)
}
