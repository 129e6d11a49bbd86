import type { HistoryItem, PartOf } from "../../protocol/index.ts"
import { estimateTokens } from "../usage/tokens.ts"
import { isTurnStart } from "./compaction-plan.ts"

export interface PruneLimits {
  /** The newest so many tokens of tool output stay. */
  protectTokens: number
  /** Less than this is not worth it: what the provider has cached would be lost for nothing. */
  minimumTokens: number
}

export const standardPruneLimits: PruneLimits = { protectTokens: 40_000, minimumTokens: 20_000 }

export interface Pruning {
  /** The calls whose output is to be hidden from now on, oldest first. */
  parts: string[]
  /** About how many tokens that saves. */
  tokens: number
}

const protectedTurns = 2
const protectedTools: ReadonlySet<string> = new Set(["skill"])

/**
 * Which tool output may be hidden: walking back, what is older than the newest 40,000 tokens of it. The last two turns stay,
 * and so does the output of `skill`. Undefined if it is not worth it.
 */
export function planPrune(
  items: readonly HistoryItem[],
  options: { isPruned: (partID: string) => boolean; limits?: PruneLimits },
): Pruning | undefined {
  const { protectTokens, minimumTokens } = options.limits ?? standardPruneLimits
  const parts: string[] = []
  let turns = 0
  let seen = 0
  let tokens = 0
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]!
    const isProtected = turns < protectedTurns
    if (isTurnStart(item)) turns++
    for (const part of item.parts.toReversed()) {
      if (part.type !== "tool" || options.isPruned(part.id)) continue
      const size = outputTokens(part)
      if (size === 0) continue
      seen += size
      if (isProtected || seen <= protectTokens || protectedTools.has(part.tool)) continue
      parts.push(part.id)
      tokens += size
    }
  }
  return tokens > minimumTokens ? { parts: parts.reverse(), tokens } : undefined
}

/** What stands in its place. */
const noticeTokens = 30

/** All output of one item that may be hidden; undefined if there is none. */
export function outputOf({ parts }: HistoryItem): Pruning | undefined {
  const calls = parts.filter(
    (part): part is PartOf<"tool"> =>
      part.type === "tool" && !protectedTools.has(part.tool) && outputTokens(part) > noticeTokens,
  )
  if (calls.length === 0) return undefined
  return {
    parts: calls.map(({ id }) => id),
    tokens: calls.reduce((sum, part) => sum + outputTokens(part) - noticeTokens, 0),
  }
}

const known = new WeakMap<object, number>()

/** What of a call can be pruned: the output of one that is completed and was not hidden by whoever wrote it. */
function outputTokens(part: PartOf<"tool">): number {
  const { state } = part
  if (state.status !== "completed" || state.time.compacted !== undefined) return 0
  let size = known.get(state)
  if (size === undefined) {
    size = estimateTokens(state.output)
    known.set(state, size)
  }
  return size
}

/** When the output of each call was hidden, for those who show it: the marks are the truth. */
export function prunedTimes(items: readonly HistoryItem[]): Map<string, number> {
  const times = new Map<string, number>()
  for (const { parts } of items) {
    for (const part of parts) {
      if (part.type !== "step-start" || !part.prune) continue
      for (const id of part.prune.parts) if (!times.has(id)) times.set(id, part.prune.time)
    }
  }
  return times
}
