import type { ModelTool } from "../../models/model.ts"
import type { HistoryItem, PartBody, UserBody } from "../../protocol/index.ts"
import { estimateMessageTokens, estimateTokens, isSummary } from "../../session/index.ts"
import type { HistoryMemo, MemoContextOptions } from "./history-memo.ts"

/** Our token estimate of a call and the provider's count: the error of the estimate. */
export interface CountedCall {
  estimate: number
  real: number
}

/** The same, with an estimate that is computed when it is first read. */
export function countedCall(real: number, estimate: () => number): CountedCall {
  let cached: number | undefined
  return {
    real,
    get estimate() {
      cached ??= estimate()
      return cached
    },
  }
}

/** A ratio outside these bounds means that the estimate or the count is wrong, so it is limited. */
const correctionMin = 0.5
const correctionMax = 2

export function correctionOf(counted: CountedCall | undefined): number {
  if (!counted || counted.estimate <= 0 || counted.real <= 0) return 1
  return Math.min(correctionMax, Math.max(correctionMin, counted.real / counted.estimate))
}

/** System prompt and tools are hardly ever larger than this many tokens. */
const overheadMax = 40_000

/** True if the next call surely fits, so that its size need not be estimated more exactly. */
export function isSmall(options: Pick<SizeOptions, "memo" | "shown" | "prompts">, limit: number): boolean {
  const messages = options.memo.shownTokens(options.shown) + promptTokens(options.prompts)
  return (messages + overheadMax) * correctionMax <= limit
}

function promptTokens(prompts: SizeOptions["prompts"]): number {
  return prompts.reduce((sum, prompt) => sum + estimateMessageTokens(prompt), 0)
}

export interface SizeOptions {
  memo: HistoryMemo
  shown: MemoContextOptions
  prompts: readonly { message: UserBody; parts: readonly PartBody[] }[]
  /** The tokens of the system prompt and the tools. */
  overhead: () => number
}

export interface NextSize {
  tokens: number
  /** The factor by which to multiply an estimate. */
  correction: number
}

/**
 * Estimates the tokens of the next call: the provider's count of the last call plus an estimate of what was added
 * since. Without a count, everything is estimated, including `overhead`.
 */
export function nextSize(options: SizeOptions): NextSize {
  const { memo, prompts } = options
  const correction = correctionOf(memo.lastCounted)
  const added = promptTokens(prompts)
  const messages = memo.shownTokens(options.shown) + added
  const last = options.shown.maxHistory === undefined ? lastCountedCall(memo) : undefined
  if (!last) return { tokens: Math.ceil((messages + options.overhead()) * correction), correction }
  // The next call may show more of the history than the counted one did, if `maxHistory` was raised.
  const least = messages * correction * estimateShareMin
  return { tokens: Math.ceil(Math.max(last.tokens + (last.since + added) * correction, least)), correction }
}

/** The real size is hardly ever less than this share of the estimate. */
const estimateShareMin = 0.75

/** The last call that the provider counted, unless a compaction has changed the context since. */
function lastCountedCall(memo: HistoryMemo): { tokens: number; since: number } | undefined {
  const items = memo.sealed
  let since = 0
  for (let index = items.length - 1; index >= memo.base.start; index--) {
    const item = items[index]!
    if (item.parts.some(isSummary)) return undefined
    // The tokens of a failed compaction are not those of the context.
    if (item.message.role === "assistant" && !item.message.summary && !item.message.error) {
      const { input, output, cache } = item.message.tokens
      const tokens = input + cache.read + cache.write + output
      if (tokens > 0) return { tokens, since: since + addedTokens(item) }
    }
    since += memo.tokensAt(index)
  }
  return undefined
}

/** Tokens that a step adds to the next call beyond its own counted input and output: tool results, and reasoning. */
function addedTokens({ message, parts }: HistoryItem): number {
  const isApart = message.role === "assistant" && message.tokens.reasoning > 0
  let sum = 0
  for (const part of parts) {
    if (part.type === "reasoning" && isApart) sum += estimateTokens(part.text)
    if (part.type !== "tool") continue
    if (part.state.status === "completed") sum += estimateTokens(part.state.output)
    if (part.state.status === "error") sum += estimateTokens(part.state.error)
  }
  return sum
}

const toolTokens = new WeakMap<readonly ModelTool[], number>()

/** Estimated tokens of the tool descriptions and schemas. */
export function estimateToolTokens(offered: readonly ModelTool[]): number {
  let cached = toolTokens.get(offered)
  if (cached === undefined) {
    cached = offered.reduce(
      (sum, { name, description, inputSchema }) =>
        sum + estimateTokens(name + description) + estimateTokens(JSON.stringify(inputSchema)),
      0,
    )
    toolTokens.set(offered, cached)
  }
  return cached
}

export function estimateSystemTokens(system: readonly string[]): number {
  return system.reduce((sum, text) => sum + estimateTokens(text), 0)
}
