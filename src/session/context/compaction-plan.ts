import type { HistoryItem } from "../../protocol/index.ts"

export interface TailOptions {
  /** So many turns stay whole, however long they are. */
  keepTurns?: number
  /** Without `keepTurns`: about so many tokens stay. */
  tailTokens: number
  /** The last message stays up to so many tokens: what it asked or found out is what comes next. */
  stepTokensMax?: number
  /** About how many tokens the item at that index is in the context. */
  tokensAt: (index: number) => number
}

/**
 * How many items a compaction hides: the tail behind them stays in the context. Whole turns stay, as many as fit; if not
 * even the last one fits, its last steps. A step is one message, so no call is parted from its result. Costs what the tail
 * is long.
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

/** A prompt; what Stemma says to go on after a compaction begins no turn. */
export function isTurnStart({ message, parts }: HistoryItem): boolean {
  return message.role === "user" && !isGoingOn(parts)
}

/** True for the prompt that follows a compaction in the middle of a turn. */
export function isGoingOn(parts: HistoryItem["parts"]): boolean {
  return parts.length > 0 && parts.every((part) => part.type === "text" && part.synthetic === true)
}
