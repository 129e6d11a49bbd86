import type { Agent } from "../../config/agents/agent.ts"
import type { Config } from "../../config/files/schema.ts"
import type { Model } from "../../models/model.ts"

/** The most output tokens that a call asks for. As many are kept free in the window. */
export const outputTokensMax = 32_000

export interface Window {
  /** The model's context window, input and output together; 0 if unknown. */
  context: number
  /** The most input tokens of a call; infinite if unknown. */
  usable: number
  /** Above this many input tokens, room is made: `usable`, or a configured threshold below it. */
  limit: number
}

export function windowOf(options: {
  model: Pick<Model, "limit">
  agent: Agent | undefined
  config: Config
}): Window {
  const { context, output } = options.model.limit
  // Some models state an output limit as large as their window. At least half of the window stays for input.
  const kept = Math.min(output > 0 ? output : outputTokensMax, outputTokensMax, Math.floor(context / 2))
  const usable = context > 0 ? context - kept : Number.POSITIVE_INFINITY
  const threshold = options.agent?.compaction?.threshold ?? options.config.compaction.threshold
  return { context, usable, limit: Math.min(usable, threshold ?? Number.POSITIVE_INFINITY) }
}

/** A configured threshold may be too low to work with. The limit leaves at least this much for messages. */
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

/** How many tokens of recent history a compaction keeps: a quarter of the limit, within bounds. */
export function tailTokensOf({ limit }: Window): number {
  return Math.min(tailTokensMax, Math.max(tailTokensMin, Math.floor(limit / 4)))
}
