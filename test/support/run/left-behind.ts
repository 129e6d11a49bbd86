import {
  type AssistantMessage,
  type HistoryItem,
  isSettled,
  StemmaError,
  type Store,
} from "../../../src/index.ts"
import { toolParts } from "./history-problems.ts"

/** The state of a session that a dead process left. */
export interface Left {
  items: readonly HistoryItem[]
  /** The ids of prompts that no run has taken. */
  waiting: string[]
}

export async function leftBehind(store: Store, sessionID: string): Promise<Left> {
  try {
    const { items } = await store.history(sessionID, { limit: 1000 })
    const inbox = await store.inbox(sessionID)
    return { items, waiting: inbox.flatMap((item) => (item.type === "prompt" ? [item.id] : [])) }
  } catch (error) {
    if (StemmaError.is(error, "not_found")) return { items: [], waiting: [] }
    throw error
  }
}

/** How often an interrupted run is recovered. */
export const recoveriesMax = 3

/** How often the answer to a prompt was interrupted by the end of a process. */
export function interruptionsOf(items: readonly HistoryItem[], promptID: string): number {
  return interruptionsByMessage(items, promptID).reduce((sum, count) => sum + count, 0)
}

/** The interruptions since the last message of the answer that was not interrupted. */
function interruptionsInRow(items: readonly HistoryItem[], promptID: string): number {
  const counts = interruptionsByMessage(items, promptID)
  const inRow = counts.slice(counts.lastIndexOf(0) + 1)
  return inRow.reduce((sum, count) => sum + count, 0)
}

function interruptionsByMessage(items: readonly HistoryItem[], promptID: string): number[] {
  return items.flatMap(({ message, parts }) => {
    if (message.role !== "assistant" || message.parentID !== promptID) return []
    const retries = parts.filter((part) => part.type === "retry" && part.error.name === "InterruptedError")
    return [retries.length + (message.finish === "interrupted" ? 1 : 0)]
  })
}

/** How the last message that answers a prompt ended; undefined if there is none or it is open. */
export function finishOf(items: readonly HistoryItem[], promptID: string): string | undefined {
  const last = items.findLast(({ message }) => message.role === "assistant" && message.parentID === promptID)
  return last?.sealed ? (last.message as AssistantMessage).finish : undefined
}

/** How the answer ended; undefined if a process that recovers would continue it. */
export function endOf(items: readonly HistoryItem[], promptID: string): string | undefined {
  const finish = finishOf(items, promptID)
  if (finish === "tool-calls") return undefined
  return finish !== "interrupted" || interruptionsInRow(items, promptID) >= recoveriesMax ? finish : undefined
}

/** The phase of a run when its process ended, derived from the stored state. */
export function phaseOf({ items, waiting }: Left): string {
  const last = items.at(-1)
  if (!last) return waiting.length > 0 ? "before it is taken" : "before it is admitted"
  const { finish } = last.message as AssistantMessage
  if (last.sealed) return finish === "stop" ? "after the end" : "between steps"
  const calls = toolParts([last])
  if (finish === undefined) {
    const hasText = last.parts.some(
      (part) => (part.type === "text" || part.type === "reasoning") && part.text !== "",
    )
    return hasText || calls.length > 0 ? "while it streams" : "before it streams"
  }
  if (calls.length === 0 || calls.every(({ state }) => isSettled(state))) return "before the seal"
  return calls.every(({ state }) => state.status === "pending") ? "before the tools" : "while tools run"
}
