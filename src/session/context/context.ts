import type { HistoryItem, Part, PartOf } from "../../protocol/index.ts"
import { type RevertMark, visibleItems } from "../history/revert.ts"
import type { ContextFile, ContextMessage, ContextText, ContextToolResult } from "./context-message.ts"
import { contextFile, prunedParts, type ToolPair, toolPairs } from "./tool-pairs.ts"
import { trimItems } from "./trim.ts"

export interface ContextOptions {
  /** The session's revert mark: what it hides is left out. */
  mark?: RevertMark
  /** The session's `maxHistory`. */
  maxHistory?: number
  /** The session's first prompt, where that is to stay in the context whatever is trimmed. */
  first?: HistoryItem
}

/** Stands at the start of a context whose first message is not a user's, since every model wants one there. */
export const beginningNotice = "[The beginning of the conversation is not shown.]"

/**
 * What the model is shown of a history. The items must reach back to the message that the last compaction keeps first, or
 * to the beginning; whatever hides output of theirs comes after them.
 */
export function context(items: readonly HistoryItem[], options: ContextOptions = {}): ContextMessage[] {
  const visible = visibleItems(items, options.mark)
  const base = contextBase(visible)
  const kept = visible.slice(base.start)
  const trimmed = trimItems(kept, options.maxHistory)
  const growing = growingContext(base)
  const { first } = options
  const isCut = trimmed.length < kept.length || base.compaction !== undefined
  if (first && isCut && !trimmed.some(({ message }) => message.id === first.message.id)) growing.add(first)
  for (const item of trimmed) growing.add(item)
  return growing.messages
}

/** What is decided by the last compaction and by the prune marks after it. */
export interface ContextBase {
  /** The last one that is sealed. */
  compaction?: PartOf<"compaction">
  /** The index of the first item that the model is shown. */
  start: number
  /** Calls whose output is hidden. */
  pruned: ReadonlySet<string>
}

export function contextBase(items: readonly HistoryItem[]): ContextBase {
  const { compaction, start } = lastCompaction(items)
  const pruned = new Set<string>()
  for (let index = start; index < items.length; index++) {
    for (const id of prunedParts(items[index]!.parts)) pruned.add(id)
  }
  return { ...(compaction && { compaction }), start, pruned }
}

/** What `context` gives, built item by item: adding one costs what that one is long. */
export interface GrowingContext {
  readonly messages: ContextMessage[]
  add(item: HistoryItem): void
}

/** Begins with the summary, if there is one. Items that change the base are to be known to it. */
export function growingContext(base: ContextBase): GrowingContext {
  const pair = toolPairs({ isPruned: (partID) => base.pruned.has(partID) })
  const messages: ContextMessage[] = []
  const { compaction } = base
  if (compaction) messages.push({ role: "user", content: [{ type: "text", text: summaryText(compaction) }] })
  return {
    messages,
    add(item) {
      const added = itemMessages(item, pair)
      if (messages.length === 0 && added.length > 0 && added[0]!.role !== "user") {
        messages.push({ role: "user", content: [{ type: "text", text: beginningNotice }] })
      }
      messages.push(...added)
    },
  }
}

/** True if the item changes what the model is shown of earlier ones: there is a new base. */
export function changesBase(item: HistoryItem): boolean {
  return item.parts.some(
    (part) => isSummary(part) || (part.type === "step-start" && part.prune !== undefined),
  )
}

function lastCompaction(items: readonly HistoryItem[]): {
  compaction?: PartOf<"compaction">
  start: number
} {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]!
    const compaction = item.sealed ? item.parts.findLast(isSummary) : undefined
    if (!compaction) continue
    const first = items.findIndex((kept) => kept.message.id === compaction.firstKeptEntryId)
    return { compaction, start: first >= 0 ? first : index }
  }
  return { start: 0 }
}

/** A compaction that is done; one that failed has no summary. */
export function isSummary(part: Part): part is PartOf<"compaction"> {
  return part.type === "compaction" && part.summary !== undefined
}

/** What stands in a context for all that a compaction hides. */
export function summaryText(compaction: { summary?: string; ledger?: string }): string {
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
