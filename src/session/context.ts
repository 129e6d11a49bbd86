import type { HistoryItem, Part, PartOf } from "../protocol/index.ts"
import type { ContextFile, ContextMessage, ContextText, ContextToolResult } from "./context-message.ts"
import { type RevertMark, visibleItems } from "./revert.ts"
import { contextFile, prunedParts, type ToolPair, toolPairs } from "./tool-pairs.ts"
import { trimItems } from "./trim.ts"

export interface ContextOptions {
  /** The session's revert mark: what it hides is left out. */
  mark?: RevertMark
  /** The session's `maxHistory`. */
  maxHistory?: number
}

/** Stands at the start of a context whose first message is not a user's, since every model wants one there. */
export const beginningNotice = "[The beginning of the conversation is not shown.]"

/**
 * What the model is shown of a history. The items must reach back to the message that the last compaction keeps first, or
 * to the beginning, and to the first prune mark that may still matter.
 */
export function context(items: readonly HistoryItem[], options: ContextOptions = {}): ContextMessage[] {
  const visible = visibleItems(items, options.mark)
  const pruned = prunedParts(visible.flatMap((item) => item.parts))
  const pair = toolPairs({ isPruned: (partID) => pruned.has(partID) })
  const { compaction, kept } = fromCompaction(visible)
  const messages: ContextMessage[] = []
  if (compaction) messages.push({ role: "user", content: [{ type: "text", text: summaryText(compaction) }] })
  for (const item of trimItems(kept, options.maxHistory)) messages.push(...itemMessages(item, pair))
  if (messages.length > 0 && messages[0]!.role !== "user") {
    messages.unshift({ role: "user", content: [{ type: "text", text: beginningNotice }] })
  }
  return messages
}

/** What `context` gives, built item by item: adding one costs what that one is long. */
export interface GrowingContext {
  readonly messages: readonly ContextMessage[]
  /** False if the item changes what the model is shown of earlier ones: begin again with `context`. */
  add(item: HistoryItem): boolean
}

export function growingContext(): GrowingContext {
  const pair = toolPairs({ isPruned: () => false })
  const messages: ContextMessage[] = []
  return {
    messages,
    add(item) {
      if (item.parts.some(changesEarlier)) return false
      const added = itemMessages(item, pair)
      if (messages.length === 0 && added.length > 0 && added[0]!.role !== "user") {
        messages.push({ role: "user", content: [{ type: "text", text: beginningNotice }] })
      }
      messages.push(...added)
      return true
    },
  }
}

function changesEarlier(part: Part): boolean {
  return isSummary(part) || (part.type === "step-start" && part.prune !== undefined)
}

/** The last sealed compaction, and the items from the first one that it keeps. */
function fromCompaction(items: readonly HistoryItem[]): {
  compaction?: PartOf<"compaction">
  kept: readonly HistoryItem[]
} {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]!
    const compaction = item.sealed ? item.parts.findLast(isSummary) : undefined
    if (!compaction) continue
    const first = items.findIndex((kept) => kept.message.id === compaction.firstKeptEntryId)
    return { compaction, kept: items.slice(first >= 0 ? first : index) }
  }
  return { kept: items }
}

function isSummary(part: Part): part is PartOf<"compaction"> {
  return part.type === "compaction" && part.summary !== undefined
}

function summaryText(compaction: PartOf<"compaction">): string {
  const summary = `[Summary of the conversation so far]\n${compaction.summary}`
  return compaction.ledger ? `${summary}\n\n${compaction.ledger}` : summary
}

function itemMessages(item: HistoryItem, pair: (part: PartOf<"tool">) => ToolPair): ContextMessage[] {
  if (item.message.role === "user") {
    const content = item.parts.flatMap(userContent)
    return content.length > 0 ? [{ role: "user", content }] : []
  }
  return item.message.summary ? [] : assistantMessages(item.parts, pair)
}

function userContent(part: Part): (ContextText | ContextFile)[] {
  if (part.type === "text") return shownText(part)
  if (part.type === "file") return [contextFile(part)]
  if (part.type === "subtask") {
    return [{ type: "text", text: `Task for @${part.agent}: ${part.description}\n${part.prompt}` }]
  }
  return []
}

function shownText(part: PartOf<"text">): ContextText[] {
  if (part.ignored || part.text.trim() === "") return []
  return [{ type: "text", text: part.text, ...(part.metadata && { metadata: part.metadata }) }]
}

/** What was said after a call belongs after its result, so an assistant message may become several. */
function assistantMessages(
  parts: readonly Part[],
  pair: (part: PartOf<"tool">) => ToolPair,
): ContextMessage[] {
  const messages: ContextMessage[] = []
  let said: Extract<ContextMessage, { role: "assistant" }>["content"] = []
  let results: ContextToolResult[] = []
  const flush = () => {
    // Reasoning that led to nothing is refused by models.
    if (said.some((part) => part.type !== "reasoning")) messages.push({ role: "assistant", content: said })
    if (results.length > 0) messages.push({ role: "tool", content: results })
    said = []
    results = []
  }
  for (const part of parts) {
    if (part.type === "tool") {
      const { call, result } = pair(part)
      said.push(call)
      results.push(result)
      continue
    }
    const content = assistantContent(part)
    if (content.length === 0) continue
    if (results.length > 0) flush()
    said.push(...content)
  }
  flush()
  return messages
}

function assistantContent(part: Part): Extract<ContextMessage, { role: "assistant" }>["content"] {
  if (part.type === "text") return shownText(part)
  if (part.type === "file") return [{ type: "text", text: `[file: ${part.filename ?? part.mime}]` }]
  if (part.type !== "reasoning" || (part.text.trim() === "" && !part.metadata)) return []
  return [{ type: "reasoning", text: part.text, ...(part.metadata && { metadata: part.metadata }) }]
}
