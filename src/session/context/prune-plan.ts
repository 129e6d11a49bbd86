import type { HistoryItem, PartOf } from "../../protocol/index.ts"
import { estimateTokens } from "../usage/tokens.ts"
import { isTurnStart } from "./compaction-plan.ts"

export interface PruneLimits {
  /** This many tokens of the newest tool output stay. */
  protectTokens: number
  /** A prune that saves less is not done: it would invalidate the provider's cache for little gain. */
  minimumTokens: number
}

export const standardPruneLimits: PruneLimits = { protectTokens: 40_000, minimumTokens: 20_000 }

export interface Pruning {
  /** Ids of the tool parts whose output to hide from now on, oldest first. */
  parts: string[]
  /** About how many tokens the prune saves. */
  tokens: number
}

const protectedTurns = 2
const protectedTools: ReadonlySet<string> = new Set(["skill"])

/**
 * Plans which tool output to hide: output older than the newest `protectTokens` tokens of output. The last two turns
 * stay, and so does the output of the `skill` tool. Returns undefined if the prune would save too little.
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

/** The tokens of the notice that replaces pruned output. */
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

const estimates = new WeakMap<object, number>()

/** The tokens of output that can be pruned: 0 unless the call is completed and its output was not already hidden. */
function outputTokens(part: PartOf<"tool">): number {
  const { state } = part
  if (state.status !== "completed" || state.time.compacted !== undefined) return 0
  let size = estimates.get(state)
  if (size === undefined) {
    size = estimateTokens(state.output)
    estimates.set(state, size)
  }
  return size
}

/** When the output of each tool part was hidden, by part id, according to the prune marks. */
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
