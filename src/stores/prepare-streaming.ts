import { idPattern } from "../protocol/index.ts"
import { cleanText } from "../session/text/clean-text.ts"
import type { Commit, Op } from "./commit.ts"

/**
 * A checked and cleaned copy of a commit that a streaming answer makes up to twenty times a second: pieces and plain
 * text parts. Undefined for every other commit, and for every value that is not exactly as expected: the schema decides
 * about those, so both ways accept and refuse the same commits. See docs/decisions/streaming-commits.md.
 */
export function prepareStreaming(commit: Commit): Commit | undefined {
  if (typeof commit !== "object" || commit === null) return undefined
  const { ops, fences, expectSeq } = commit
  if (expectSeq !== undefined || !Array.isArray(ops) || ops.length === 0) return undefined
  const copies: Op[] = []
  for (const op of ops) {
    const copy = typeof op === "object" && op !== null ? copyOp(op) : undefined
    if (copy === undefined) return undefined
    copies.push(copy)
  }
  if (fences === undefined) return { ops: copies }
  const checked = copyFences(fences)
  return checked && { ops: copies, fences: checked }
}

function copyFences(fences: Record<string, number>): Record<string, number> | undefined {
  if (typeof fences !== "object" || fences === null || Array.isArray(fences)) return undefined
  const copy: Record<string, number> = {}
  for (const id of Object.keys(fences)) {
    const fence = fences[id]!
    if (!isID(sessionPattern, id) || !Number.isSafeInteger(fence) || fence <= 0) return undefined
    copy[id] = fence
  }
  return copy
}

function copyOp(op: Op): Op | undefined {
  if (op.op === "piece.add") {
    const { sessionID, messageID, partID, field, offset, text } = op
    if (!isID(sessionPattern, sessionID) || !isID(messagePattern, messageID)) return undefined
    if (!isID(partPattern, partID) || typeof text !== "string") return undefined
    if (field !== "text" && field !== "raw" && field !== "output") return undefined
    if (!Number.isSafeInteger(offset) || offset < 0) return undefined
    // Adding 0 turns -0 into 0.
    return { op: "piece.add", sessionID, messageID, partID, field, offset: offset + 0, text: cleanText(text) }
  }
  if (op.op !== "part.put") return undefined
  const { sessionID, messageID, part, grown } = op
  if (!isID(sessionPattern, sessionID) || !isID(messagePattern, messageID)) return undefined
  if (grown !== undefined || typeof part !== "object" || part === null || part.type !== "text")
    return undefined
  if (!isID(partPattern, part.id) || typeof part.text !== "string") return undefined
  for (const name in part) if (name !== "id" && name !== "type" && name !== "text") return undefined
  const copy = { id: part.id, type: "text" as const, text: cleanText(part.text) }
  return { op: "part.put", sessionID, messageID, part: copy }
}

const sessionPattern = idPattern("session")
const messagePattern = idPattern("message")
const partPattern = idPattern("part")

function isID(pattern: RegExp, id: unknown): boolean {
  return typeof id === "string" && pattern.test(id)
}
