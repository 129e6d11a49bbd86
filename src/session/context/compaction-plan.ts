import type { HistoryItem } from "../../protocol/index.ts"

export interface TailOptions {
  /** If given, exactly this many turns stay whole, however long they are. */
  keepTurns?: number
  /** Without `keepTurns`: about how many tokens stay. */
  tailTokens: number
  /** The last message stays even if it exceeds `tailTokens`, up to this many tokens: the next step builds on it. */
  stepTokensMax?: number
  /** The estimated tokens that the item at that index has in the context. */
  tokensAt: (index: number) => number
}

/**
 * Returns how many items a compaction hides; the tail after them stays in the context. The tail is as many whole turns
 * as fit, or, if the last turn does not fit, its last steps. A step is one message, so a tool call is never separated
 * from its result. Takes time in proportion to the tail.
 */
export function planTail(items: readonly HistoryItem[], options: TailOptions): number {
  if (options.keepTurns !== undefined) return turnsStart(items, options.keepTurns)
  const { tailTokens, tokensAt, stepTokensMax = 0 } = options
  let start = items.length
  let sum = 0
  let step = items.length
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]!
    sum += tokensAt(index)
    if (sum > tailTokens) {
      if (start < items.length) return start
      if (step < items.length) return step
      return sum <= stepTokensMax ? index : items.length
    }
    step = index
    if (isTurnStart(item)) start = index
  }
  return 0
}

function turnsStart(items: readonly HistoryItem[], turns: number): number {
  let left = turns
  if (left === 0) return items.length
  for (let index = items.length - 1; index >= 0; index--) {
    if (isTurnStart(items[index]!) && --left === 0) return index
  }
  return 0
}

/** True for a prompt. The synthetic prompt after a compaction does not begin a turn. */
export function isTurnStart({ message, parts }: HistoryItem): boolean {
  return message.role === "user" && !isGoingOn(parts)
}

/** True for the synthetic prompt that follows a compaction in the middle of a turn. */
export function isGoingOn(parts: HistoryItem["parts"]): boolean {
  return parts.length > 0 && parts.every((part) => part.type === "text" && part.synthetic === true)
}
