import type { ModelTool } from "../../models/model.ts"
import type { HistoryItem, PartBody, UserBody } from "../../protocol/index.ts"
import { estimateMessageTokens, estimateTokens, isSummary } from "../../session/index.ts"
import type { HistoryMemo, MemoContextOptions } from "./history-memo.ts"

/** What a call was thought to be and what the provider counted: how far the estimate is off. */
export interface Counted {
  estimate: number
  real: number
}

/** The same, estimated only if somebody asks. */
export function counted(real: number, estimate: () => number): Counted {
  let known: number | undefined
  return {
    real,
    get estimate() {
      known ??= estimate()
      return known
    },
  }
}

/** Far from it one of the two is nonsense. */
const correctionMin = 0.5
const correctionMax = 2

export function correctionOf(counted: Counted | undefined): number {
  if (!counted || counted.estimate <= 0 || counted.real <= 0) return 1
  return Math.min(correctionMax, Math.max(correctionMin, counted.real / counted.estimate))
}

/** What is sent beside the messages is hardly ever more. */
const overheadMax = 40_000

/** Whether the next call is so small that nobody need look closer. */
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
  /** What is sent beside the messages. */
  overhead: () => number
}

export interface NextSize {
  tokens: number
  /** By how much an estimate is to be multiplied. */
  correction: number
}

/**
 * About how many tokens the next call sends: what the last one had by the provider's count, and what has come since. Where
 * nobody has counted, all of it is estimated; `overhead` is what is sent beside the messages.
 */
export function nextSize(options: SizeOptions): NextSize {
  const { memo, prompts } = options
  const correction = correctionOf(memo.counted)
  const added = promptTokens(prompts)
  const messages = memo.shownTokens(options.shown) + added
  const last = options.shown.maxHistory === undefined ? lastCounted(memo) : undefined
  if (!last) return { tokens: Math.ceil((messages + options.overhead()) * correction), correction }
  // The call that was counted may have shown less of the history than the next one: `maxHistory` may have been raised.
  const least = messages * correction * leastOfEstimate
  return { tokens: Math.ceil(Math.max(last.tokens + (last.since + added) * correction, least)), correction }
}

/** An estimate is hardly further off than this. */
const leastOfEstimate = 0.75

/** The last call that was counted, unless the context has become another one since. */
function lastCounted(memo: HistoryMemo): { tokens: number; since: number } | undefined {
  const items = memo.sealed
  let since = 0
  for (let index = items.length - 1; index >= memo.base.start; index--) {
    const item = items[index]!
    if (item.parts.some(isSummary)) return undefined
    // What a compaction that failed has cost says nothing about the context.
    if (item.message.role === "assistant" && !item.message.summary && !item.message.error) {
      const { input, output, cache } = item.message.tokens
      const tokens = input + cache.read + cache.write + output
      if (tokens > 0) return { tokens, since: since + sentNextTokens(item) }
    }
    since += memo.tokensAt(index)
  }
  return undefined
}

/** What the next call shows of a step beside its input and its output: results, and reasoning that was counted apart. */
function sentNextTokens({ message, parts }: HistoryItem): number {
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

/** About how many tokens the descriptions of tools are. */
export function estimateToolTokens(offered: readonly ModelTool[]): number {
  let known = toolTokens.get(offered)
  if (known === undefined) {
    known = offered.reduce(
      (sum, { name, description, inputSchema }) =>
        sum + estimateTokens(name + description) + estimateTokens(JSON.stringify(inputSchema)),
      0,
    )
    toolTokens.set(offered, known)
  }
  return known
}

export function estimateSystemTokens(system: readonly string[]): number {
  return system.reduce((sum, text) => sum + estimateTokens(text), 0)
}
