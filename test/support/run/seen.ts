import type { HistoryItem } from "../../../src/index.ts"
import type { RunLine } from "../children/run-child.ts"

/** The text of one part as a subscriber had it. */
export interface SeenText {
  messageID: string
  partID: string
  text: string
}

/** The text and reasoning that a subscriber had received up to a moment. */
export function seenUntil(lines: readonly RunLine[], atMs: number): SeenText[] {
  const seen = new Map<string, SeenText>()
  for (const line of lines) {
    if (line.atMs > atMs) break
    if (!("event" in line)) continue
    const { event } = line
    if (event.type === "message.part.removed") seen.delete(event.properties.partID)
    if (event.type === "message.part.updated") {
      const { part } = event.properties
      if (part.type !== "text" && part.type !== "reasoning") continue
      seen.set(part.id, { messageID: part.messageID, partID: part.id, text: part.text })
    }
    if (event.type === "message.part.delta" && event.properties.field === "text") {
      const { messageID, partID, offset, delta } = event.properties
      const text = seen.get(partID)?.text ?? ""
      if (offset !== text.length) throw new Error(`A delta at ${offset} came after ${text.length} units.`)
      seen.set(partID, { messageID, partID, text: text + delta })
    }
  }
  return [...seen.values()]
}

/** A process that runs writes a line every 10 ms. */
const lineMsMax = 15

/**
 * The moment from which a process ran for `runMs` until it died. A longer gap between two of its lines counts as `lineMsMax`:
 * the process did not get to run.
 */
export function momentBefore(lines: readonly RunLine[], died: { atMs: number; runMs: number }): number {
  let at = died.atMs
  let left = died.runMs
  for (const line of lines.toReversed()) {
    if (line.atMs > died.atMs) continue
    const ran = Math.min(at - line.atMs, lineMsMax)
    if (ran >= left) return at - left
    left -= ran
    at = line.atMs
  }
  return Number.NEGATIVE_INFINITY
}

/** Text that was received and is not in the history. */
export function lostTexts(seen: readonly SeenText[], items: readonly HistoryItem[]): string[] {
  const lost: string[] = []
  for (const { messageID, partID, text } of seen) {
    const item = items.find(({ message }) => message.id === messageID)
    const part = item?.parts.find(({ id }) => id === partID)
    const kept = part?.type === "text" || part?.type === "reasoning" ? part.text : undefined
    if (kept?.startsWith(text)) continue
    lost.push(`${messageID} ${partID}: seen ${JSON.stringify(text)}, kept ${JSON.stringify(kept)}`)
  }
  return lost
}
