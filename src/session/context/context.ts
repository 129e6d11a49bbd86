import type { HistoryItem, Part, PartOf } from "../../protocol/index.ts"
import { type RevertMark, visibleItems } from "../history/revert.ts"
import type { ContextFile, ContextMessage, ContextText, ContextToolResult } from "./context-message.ts"
import { contextFile, prunedParts, type ToolPair, toolPairs } from "./tool-pairs.ts"
import { trimItems } from "./trim.ts"

export interface ContextOptions {
  /** The session's revert mark. Content that the mark hides is left out. */
  mark?: RevertMark
  /** The session's `maxHistory`. */
  maxHistory?: number
  /** The session's first prompt, if it must stay in the context whatever is trimmed. */
  first?: HistoryItem
}

/** Placed before a context whose first message is not a user's, because every model requires a user message there. */
export const beginningNotice = "[The beginning of the conversation is not shown.]"

/**
 * The messages that the model is shown for a history. `items` must reach back to the first message that the last
 * compaction keeps, or to the beginning of the history, and must include every later item, because prune marks come
 * after the output they hide.
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

/** What the last compaction and the prune marks after it determine. */
export interface ContextBase {
  /** The last sealed compaction. */
  compaction?: PartOf<"compaction">
  /** The index of the first item that the model is shown. */
  start: number
  /** Ids of tool parts whose output is hidden. */
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

/** Builds the messages of `context` one item at a time. Adding an item takes time in proportion to that item. */
export interface GrowingContext {
  readonly messages: ContextMessage[]
  add(item: HistoryItem): void
}

/**
 * Begins with the summary of `base`, if there is one. The caller must compute a new base when `changesBase` is true for
 * an item.
 */
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

/** True if the item changes how earlier items are shown, so that the caller must compute a new base. */
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

/** True for a compaction that succeeded. A failed compaction has no summary. */
export function isSummary(part: Part): part is PartOf<"compaction"> {
  return part.type === "compaction" && part.summary !== undefined
}

/** The text that replaces everything that a compaction hides. */
export function summaryText(compaction: { summary?: string; ledger?: string }): string {
  const summary = `[Summary of the conversation so far]\n${compaction.summary}`
  return compaction.ledger ? `${summary}\n\n${compaction.ledger}` : summary
}

function itemMessages(item: HistoryItem, pair: (part: PartOf<"tool">) => ToolPair): ContextMessage[] {
  if (item.message.role === "user") {
    const content = item.parts.flatMap(userContent).slice()
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

/** Text after a tool call belongs after the call's result, so one assistant message may become several. */
function assistantMessages(
  parts: readonly Part[],
  pair: (part: PartOf<"tool">) => ToolPair,
): ContextMessage[] {
  const messages: ContextMessage[] = []
  let said: Extract<ContextMessage, { role: "assistant" }>["content"] = []
  let results: ContextToolResult[] = []
  const flush = () => {
    // Models reject an assistant message that has only reasoning.
    // A copy has the right size. An array that grows by `push` has room for 17 elements, in each of thousands of messages.
    if (said.some((part) => part.type !== "reasoning"))
      messages.push({ role: "assistant", content: said.slice() })
    if (results.length > 0) messages.push({ role: "tool", content: results.slice() })
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
