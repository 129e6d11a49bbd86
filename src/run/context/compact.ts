import type { Agent } from "../../config/agents/agent.ts"
import type { Model } from "../../models/model.ts"
import {
  type MessageError,
  type ModelRef,
  noTokens,
  type PartBody,
  type UserBody,
} from "../../protocol/index.ts"
import {
  estimateMessageTokens,
  estimateTokens,
  ledgerText,
  outputOf,
  type Pruning,
  planTail,
  summaryText,
} from "../../session/index.ts"
import type { Run } from "../loop/run.ts"
import { errorText } from "../step/error-text.ts"
import {
  addSpent,
  type CompactionPlace,
  commitCompaction,
  commitFailure,
  isCompaction,
  setCompacting,
} from "./compaction-message.ts"
import { tailTokensOf, type Window, windowOf, withRoom } from "./context-window.ts"
import { type Spent, summarise } from "./summarise.ts"
import { writeLedger } from "./write-ledger.ts"

export interface CompactOptions extends CompactionPlace {
  /** Who asks the model next, and whose model summarises unless the compaction agent has one of its own. */
  user: UserBody
  agent: Agent | undefined
  model: Model
  auto: boolean
  instructions?: string
  /** About how many tokens the next call would have as it is, and of these beside the history. */
  tokensBefore: number
  overhead: number
  /** By how much an estimate is to be multiplied. */
  correction: number
  /** Prompts that wait, and will join the context. */
  prompts?: readonly { message: UserBody; parts: readonly PartBody[] }[]
  /** Nothing stays but the last message, if that. */
  isSmallest?: boolean
}

/** `nothing`: there is nothing that could be hidden. A failure leaves the context as it was. */
export type Compacted = "done" | "failed" | "nothing"

/**
 * Hides the history but for a recent tail, and puts a summary and the ledger in its place: one sealed message, committed at
 * once. Whatever cuts it off before that leaves the session as it was.
 */
export async function compact(run: Run, options: CompactOptions): Promise<Compacted> {
  const { config } = (await run.setup()).loaded
  const window = withRoom(windowOf({ model: options.model, agent: options.agent, config }), options)
  const keepTurns = options.agent?.compaction?.keepTurns ?? config.compaction.keepTurns
  const keepsFirst = config.keepFirstMessage
  const cuts = cutsOf(run, { ...options, window, keepTurns, keepsFirst })
  if (cuts.length === 0) return "nothing"
  await run.writer.commit([setCompacting(run, run.engine.clock.now())])
  const spent: Spent = { tokens: noTokens(), cost: 0 }
  try {
    const failure = await tryCuts(run, { ...options, window, keepsFirst, cuts, spent })
    if (failure === undefined) return "done"
    await commitFailure(run, options, {
      auto: options.auto,
      error: failure,
      spent,
      tokensBefore: options.tokensBefore,
    })
    return "failed"
  } catch (error) {
    if (!run.writer.signal.aborted) await run.writer.commit([setCompacting(run, null), addSpent(run, spent)])
    throw error
  }
}

interface CutOptions extends CompactOptions {
  window: Window
  /** The session's first prompt stays in the context. */
  keepsFirst: boolean
}

/** How many of the items that are shown might be hidden: the planned tail first, then smaller ones. */
function cutsOf(run: Run, options: CutOptions & { keepTurns: number | undefined }): number[] {
  const { memo } = run
  const { start } = memo.base
  const items = memo.sealed.slice(start)
  const { window, keepTurns } = options
  const plan = (tailTokens: number, turns?: number) =>
    planTail(items, {
      tailTokens,
      stepTokensMax: lastStepMax(window, tailTokens),
      tokensAt: (index) => memo.tokensAt(start + index),
      ...(turns !== undefined && { keepTurns: turns }),
    })
  const tailTokens = tailTokensOf(window)
  const smaller = plan(Math.floor(tailTokens / 4))
  const last = items.length - 1
  const planned = keepTurns === undefined ? [] : [plan(tailTokens, keepTurns)]
  const cuts = options.isSmallest ? [smaller] : [...planned, plan(tailTokens), smaller]
  // A person may want less than would have to be.
  if (!options.auto) cuts.push(plan(0, 1))
  // A last step that is too large for its results stays without them: the model must know that it was made.
  if (cuts.includes(items.length) && lastOutput(run)) cuts.splice(cuts.indexOf(items.length), 0, last)
  cuts.push(items.length)
  return smallerTails(cuts, (index) => memo.tokensAt(start + index))
}

/** What is shorter than this is not worth a summary, which would hardly be shorter. */
const hiddenTokensMin = 200

export function isWorthHiding(range: {
  from: number
  to: number
  tokensAt: (index: number) => number
}): boolean {
  let tokens = 0
  for (let index = range.from; index < range.to && tokens < hiddenTokensMin; index++)
    tokens += range.tokensAt(index)
  return tokens >= hiddenTokensMin
}

/** Each cut but those that hide no more than one before them, or next to nothing. */
function smallerTails(cuts: readonly number[], tokensAt: (index: number) => number): number[] {
  const isWorthIt = (cut: number) => isWorthHiding({ from: 0, to: cut, tokensAt })
  const found: number[] = []
  for (const cut of cuts) if (cut > (found.at(-1) ?? 0) && isWorthIt(cut)) found.push(cut)
  return found
}

/** The results of the last step. */
function lastOutput(run: Run): Pruning | undefined {
  const item = run.memo.sealed.at(-1)
  return item && outputOf(item)
}

/** What is hidden of a tail that is nothing but a step with results that are too large. */
function hidingOf(run: Run, { cut, window }: { cut: number; window: Window }): Pruning | undefined {
  const { memo } = run
  const index = memo.sealed.length - 1
  if (memo.base.start + cut !== index) return undefined
  return memo.tokensAt(index) > lastStepMax(window, tailTokensOf(window)) ? lastOutput(run) : undefined
}

function lastStepMax({ limit, usable }: Window, tailTokens: number): number {
  return Math.min((Number.isFinite(limit) ? limit : usable) / 2, 4 * tailTokens)
}

/** The first tail that might fit, and a smaller one: such a one as fits whatever the summary and the ledger will be. */
function triesOf(run: Run, options: CutOptions & { cuts: readonly number[] }): number[] {
  const { cuts, correction, window } = options
  const bare = (cut: number) => tokensAfter(run, { ...options, cut, summary: "", ledger: "" })
  const first = cuts.findIndex((cut) => bare(cut) <= window.limit)
  // Nothing that a model could write would help.
  if (first < 0) return []
  const hidden = (run.memo.base.compaction?.tokensHidden ?? 0) + options.tokensBefore
  const added = (summaryBudget(window) + ledgerBudget(hidden, window)) * correction
  const smaller = cuts.slice(first + 1)
  const safe = smaller.find((cut) => bare(cut) + added <= window.limit) ?? smaller.at(-1)
  return [cuts[first]!, ...(safe === undefined ? [] : [safe])]
}

/** The first tail, and once more with a smaller one. Undefined if one of them did. */
async function tryCuts(
  run: Run,
  options: CutOptions & { cuts: readonly number[]; spent: Spent },
): Promise<MessageError | undefined> {
  const { memo } = run
  const { compaction, start } = memo.base
  const items = memo.sealed.slice(start)
  const hiddenBefore = compaction?.tokensHidden ?? 0
  const historyTokens = hiddenBefore + tokensOf(items)
  let summary = compaction?.summary
  let done = 0
  const cuts = triesOf(run, options)
  let failure: MessageError | undefined
  if (cuts.length === 0) {
    const cut = options.cuts.at(-1)!
    return misfit(
      {
        tokensBefore: options.tokensBefore,
        tokensAfter: tokensAfter(run, { ...options, cut, summary: "", ledger: "" }),
      },
      options,
    )
  }
  for (const cut of cuts) {
    const written = await writeSummary(run, { ...options, before: summary, items: items.slice(done, cut) })
    if ("error" in written) return written.error
    summary = written.text
    done = cut
    const hidden = items.slice(0, cut)
    const tokensHidden = hiddenBefore + tokensOf(hidden)
    const { mask } = await run.setup()
    const facts = await writeLedger(compaction?.facts, hidden, {
      budgetTokens: ledgerBudget(historyTokens, options.window),
      mask,
      signal: run.signal,
    })
    const ledger = ledgerText(facts)
    const kept = items[cut]?.message.id
    const part: Extract<PartBody, { type: "compaction" }> = {
      id: run.engine.newID("part"),
      type: "compaction",
      auto: options.auto,
      summary,
      ledger,
      facts,
      ...(kept !== undefined && { firstKeptEntryId: kept }),
      tokensBefore: options.tokensBefore,
      tokensAfter: tokensAfter(run, { ...options, cut, summary, ledger }),
      tokensHidden,
    }
    failure = misfit(part, options)
    if (failure) continue
    const hiding = hidingOf(run, { cut, window: options.window })
    await commitCompaction(run, options, { part, spent: options.spent, model: written.model })
    run.pruning = hiding?.parts
    return undefined
  }
  return failure
}

/** Of what was said: a compaction only says it again. */
function tokensOf(items: HistoryItems): number {
  return items.reduce((sum, item) => sum + (isCompaction(item) ? 0 : estimateMessageTokens(item)), 0)
}

const summaryTokensMin = 400
const summaryTokensMax = 6_000
const ledgerTokensMin = 2_000
const ledgerShare = 0.02
/** By a provider's count it may be a little more than we think. */
const ledgerMargin = 0.96

function summaryBudget({ limit }: Window): number {
  return Math.min(summaryTokensMax, Math.max(summaryTokensMin, Math.floor(limit / 8)))
}

/** The ledger may grow with the history, and take an eighth of the room there is. */
function ledgerBudget(historyTokens: number, { limit }: Window): number {
  const wanted = Math.floor(Math.max(ledgerTokensMin, historyTokens * ledgerShare) * ledgerMargin)
  return Number.isFinite(limit) ? Math.min(wanted, Math.floor(limit / 8)) : wanted
}

/** The summary, or why there is none. Nobody has asked for an automatic one, so it makes do with what the program knows. */
async function writeSummary(
  run: Run,
  options: CutOptions & { before: string | undefined; items: readonly HistoryItems[number][]; spent: Spent },
): Promise<{ text: string; model: ModelRef } | { error: MessageError }> {
  const { loaded, models, mask } = await run.setup()
  const agent = loaded.agents.get("compaction")
  const tokensMax = summaryBudget(options.window)
  const { spent, before } = options
  try {
    if (!agent) throw new Error('the compaction agent is switched off; take "disable" from its config.')
    const model = agent.model === undefined ? options.model : await models.get(agent.model)
    const { items, instructions } = options
    const text = await summarise(run, { agent, model, before, items, instructions, tokensMax, spent })
    return { text, model: model.ref }
  } catch (error) {
    run.signal.throwIfAborted()
    if (!options.auto) {
      const message = `The summary failed: ${mask(errorText(error))}`
      return { error: { name: "UnknownError", data: { message } } }
    }
    const text = [...(before === undefined ? [] : [withoutNotice(before)]), noSummary].join("\n\n")
    return { text, model: options.model.ref }
  }
}

type HistoryItems = Parameters<typeof planTail>[0]

/** What stands where a model's summary should. */
const noSummary =
  "[No summary of the last stretch could be written. What the ledger lists was taken from the history by a program; find whatever else is needed with the recall tool.]"

function withoutNotice(summary: string): string {
  return summary.replaceAll(noSummary, "").trim()
}

function tokensAfter(
  run: Run,
  options: CutOptions & { cut: number; summary: string; ledger: string },
): number {
  const { memo } = run
  const { overhead, correction, cut, prompts = [] } = options
  let tokens = overhead + estimateTokens(summaryText(options))
  for (let index = memo.base.start + cut; index < memo.sealed.length; index++) tokens += memo.tokensAt(index)
  for (const prompt of prompts) tokens += estimateMessageTokens(prompt)
  tokens -= hidingOf(run, options)?.tokens ?? 0
  if (options.keepsFirst) tokens += memo.firstTokensBefore(memo.base.start + cut)
  return Math.ceil(tokens * correction)
}

function misfit(
  { tokensBefore = 0, tokensAfter = 0 }: { tokensBefore?: number; tokensAfter?: number },
  { window, auto }: CutOptions,
): MessageError | undefined {
  const fail = (message: string): MessageError => ({ name: "ContextOverflowError", data: { message } })
  if (tokensAfter >= tokensBefore) {
    return fail(
      auto
        ? `A compaction would not make the context smaller: about ${tokensBefore} tokens before, ${tokensAfter} after. Give the session a model with a larger window, or begin a new one.`
        : `There is too little to compact: about ${tokensBefore} tokens now, ${tokensAfter} after.`,
    )
  }
  if (tokensAfter <= window.limit) return undefined
  return fail(
    `The context does not fit even after a compaction: about ${tokensAfter} tokens, and there is room for ${window.limit}. Choose a model with a larger window, or switch tools off.`,
  )
}
