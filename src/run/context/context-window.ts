import type { Agent } from "../../config/agents/agent.ts"
import type { Config } from "../../config/files/schema.ts"
import type { Model } from "../../models/model.ts"

/** How many tokens of output are asked for at most, and kept free of the window. */
export const outputTokensMax = 32_000

export interface Window {
  /** What the model takes in and gives out in one call; 0 if nobody knows. */
  context: number
  /** How much of it a call may be; infinite if nobody knows. */
  usable: number
  /** From where on room is made: the usable window, or a threshold below it. */
  limit: number
}

export function windowOf(options: {
  model: Pick<Model, "limit">
  agent: Agent | undefined
  config: Config
}): Window {
  const { context, output } = options.model.limit
  // A model whose output may be as long as its window would have no room for a question.
  const kept = Math.min(output > 0 ? output : outputTokensMax, outputTokensMax, Math.floor(context / 2))
  const usable = context > 0 ? context - kept : Number.POSITIVE_INFINITY
  const threshold = options.agent?.compaction?.threshold ?? options.config.compaction.threshold
  return { context, usable, limit: Math.min(usable, threshold ?? Number.POSITIVE_INFINITY) }
}

/** A threshold is a wish: it leaves at least so much for messages beside what every call has. */
const messageTokensMin = 4_000

export function withRoom(
  window: Window,
  { overhead, correction }: { overhead: number; correction: number },
): Window {
  const least = Math.ceil(overhead * correction) + messageTokensMin
  return { ...window, limit: Math.min(window.usable, Math.max(window.limit, least)) }
}

const tailTokensMin = 2_000
const tailTokensMax = 15_000

/** About how much of the recent history a compaction leaves as it is: a quarter of what there is room for. */
export function tailTokensOf({ limit }: Window): number {
  return Math.min(tailTokensMax, Math.max(tailTokensMin, Math.floor(limit / 4)))
}
