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
  addUsageOp,
  type CompactionTarget,
  commitCompaction,
  commitFailure,
  isCompaction,
  setCompactingOp,
} from "./compaction-message.ts"
import { tailTokensOf, type Window, windowOf, withRoom } from "./context-window.ts"
import { summarise, type Usage } from "./summarise.ts"
import { isWorthHiding } from "./worth-hiding.ts"
import { writeLedger } from "./write-ledger.ts"

export interface CompactOptions extends CompactionTarget {
  /**
   * The prompt of the next model call. Its model also writes the summary, unless the compaction agent names another.
   */
  user: UserBody
  agent: Agent | undefined
  model: Model
  auto: boolean
  instructions?: string
  /** Estimated tokens of the next call without a compaction. `overheadTokens` of them are not messages. */
  tokensBefore: number
  overheadTokens: number
  /** The factor by which to multiply an estimate. */
  correction: number
  /** Waiting prompts that the next call will add to the context. */
  prompts?: readonly { message: UserBody; parts: readonly PartBody[] }[]
  /** Keeps the smallest tail: the last message at most. */
  keepsLeast?: boolean
}

/** `nothing`: there is nothing to hide. `failed`: the context stays as it was, and the reason is in the history. */
export type CompactionResult = "done" | "failed" | "nothing"

/**
 * Hides the history except a recent tail, and puts a summary and the ledger in its place. Both are in one sealed
 * message that is written in a single commit, so an interrupted compaction leaves the session as it was.
 */
export async function compact(run: Run, options: CompactOptions): Promise<CompactionResult> {
  const { config } = (await run.setup()).loaded
  const window = withRoom(windowOf({ model: options.model, agent: options.agent, config }), {
    overhead: options.overheadTokens,
    correction: options.correction,
  })
  const keepTurns = options.agent?.compaction?.keepTurns ?? config.compaction.keepTurns
  const keepsFirst = config.keepFirstMessage
  const cuts = possibleCuts(run, { ...options, window, keepTurns, keepsFirst })
  if (cuts.length === 0) return "nothing"
  await run.writer.commit([setCompactingOp(run, run.engine.clock.now())])
  const usage: Usage = { tokens: noTokens(), cost: 0 }
  try {
    const failure = await tryCuts(run, { ...options, window, keepsFirst, cuts, usage })
    if (failure === undefined) return "done"
    await commitFailure(run, options, {
      auto: options.auto,
      error: failure,
      usage,
      tokensBefore: options.tokensBefore,
    })
    return "failed"
  } catch (error) {
    if (!run.writer.signal.aborted)
      await run.writer.commit([setCompactingOp(run, null), addUsageOp(run, usage)])
    throw error
  }
}

interface CutOptions extends CompactOptions {
  window: Window
  /** The session's first prompt always stays in the context. */
  keepsFirst: boolean
}

/** Possible cuts, each the number of shown items to hide: the preferred tail first, then smaller tails. */
function possibleCuts(run: Run, options: CutOptions & { keepTurns: number | undefined }): number[] {
  const { memo } = run
  const { start } = memo.base
  const items = memo.sealed.slice(start)
  const { window, keepTurns } = options
  const plan = (tailTokens: number, turns?: number) =>
    planTail(items, {
      tailTokens,
      stepTokensMax: lastStepTokensMax(window, tailTokens),
      tokensAt: (index) => memo.tokensAt(start + index),
      ...(turns !== undefined && { keepTurns: turns }),
    })
  const tailTokens = tailTokensOf(window)
  const smaller = plan(Math.floor(tailTokens / 4))
  const last = items.length - 1
  const planned = keepTurns === undefined ? [] : [plan(tailTokens, keepTurns)]
  const cuts = options.keepsLeast ? [smaller] : [...planned, plan(tailTokens), smaller]
  // A person who asks for a compaction may want a smaller context than the window requires: keep the last turn only.
  if (!options.auto) cuts.push(plan(0, 1))
  // If the last step is too large because of its tool output, keep the step and hide the output: the model must know
  // that it made these calls.
  if (cuts.includes(items.length) && lastOutput(run)) cuts.splice(cuts.indexOf(items.length), 0, last)
  cuts.push(items.length)
  return smallerTails(cuts, (index) => memo.tokensAt(start + index))
}

/** Leaves out cuts that hide no more than the cut before them, or too little to be worth a summary. */
function smallerTails(cuts: readonly number[], tokensAt: (index: number) => number): number[] {
  const isWorthIt = (cut: number) => isWorthHiding({ from: 0, to: cut, tokensAt })
  const useful: number[] = []
  for (const cut of cuts) if (cut > (useful.at(-1) ?? 0) && isWorthIt(cut)) useful.push(cut)
  return useful
}

/** The tool output of the last step. */
function lastOutput(run: Run): Pruning | undefined {
  const item = run.memo.sealed.at(-1)
  return item && outputOf(item)
}

/** The tool output to hide if the tail is a single step whose output is too large. */
function hiddenLastOutput(run: Run, { cut, window }: { cut: number; window: Window }): Pruning | undefined {
  const { memo } = run
  const index = memo.sealed.length - 1
  if (memo.base.start + cut !== index) return undefined
  return memo.tokensAt(index) > lastStepTokensMax(window, tailTokensOf(window)) ? lastOutput(run) : undefined
}

function lastStepTokensMax({ limit, usable }: Window, tailTokens: number): number {
  return Math.min((Number.isFinite(limit) ? limit : usable) / 2, 4 * tailTokens)
}

/**
 * The cuts to try: the first one that may fit, then a smaller one that fits even if the summary and the ledger use
 * their whole budgets.
 */
function cutsToTry(run: Run, options: CutOptions & { cuts: readonly number[] }): number[] {
  const { cuts, correction, window } = options
  const withoutSummary = (cut: number) => tokensAfter(run, { ...options, cut, summary: "", ledger: "" })
  const first = cuts.findIndex((cut) => withoutSummary(cut) <= window.limit)
  // Even with an empty summary nothing fits.
  if (first < 0) return []
  const hidden = (run.memo.base.compaction?.tokensHidden ?? 0) + options.tokensBefore
  const added = (summaryBudget(window) + ledgerBudget(hidden, window)) * correction
  const smaller = cuts.slice(first + 1)
  const safe = smaller.find((cut) => withoutSummary(cut) + added <= window.limit) ?? smaller.at(-1)
  return [cuts[first]!, ...(safe === undefined ? [] : [safe])]
}

/** Tries the cuts in order. Returns undefined once one is committed, else the error of the last one. */
async function tryCuts(
  run: Run,
  options: CutOptions & { cuts: readonly number[]; usage: Usage },
): Promise<MessageError | undefined> {
  const { memo } = run
  const { compaction, start } = memo.base
  const items = memo.sealed.slice(start)
  const hiddenBefore = compaction?.tokensHidden ?? 0
  const historyTokens = hiddenBefore + historyTokensOf(items)
  let summary = compaction?.summary
  let done = 0
  const cuts = cutsToTry(run, options)
  let failure: MessageError | undefined
  if (cuts.length === 0) {
    const cut = options.cuts.at(-1)!
    return fitError(
      {
        tokensBefore: options.tokensBefore,
        tokensAfter: tokensAfter(run, { ...options, cut, summary: "", ledger: "" }),
      },
      options,
    )
  }
  for (const cut of cuts) {
    const written = await writeSummary(run, {
      ...options,
      earlierSummary: summary,
      items: items.slice(done, cut),
    })
    if ("error" in written) return written.error
    summary = written.text
    done = cut
    const hidden = items.slice(0, cut)
    const tokensHidden = hiddenBefore + historyTokensOf(hidden)
    const { mask } = await run.setup()
    const facts = await writeLedger(compaction?.facts, hidden, {
      budgetTokens: ledgerBudget(historyTokens, options.window),
      mask,
      signal: run.signal,
    })
    const ledger = ledgerText(facts)
    const kept = items[cut]?.message.id
    const part: Extract<PartBody, { type: "compaction" }> = {
      id: run.newID("part"),
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
    failure = fitError(part, options)
    if (failure) continue
    const hiding = hiddenLastOutput(run, { cut, window: options.window })
    await commitCompaction(run, options, { part, usage: options.usage, model: written.model })
    run.partsToHide = hiding?.parts
    return undefined
  }
  return failure
}

/** Compactions are not counted: they only repeat other messages. */
function historyTokensOf(items: HistoryItems): number {
  return items.reduce((sum, item) => sum + (isCompaction(item) ? 0 : estimateMessageTokens(item)), 0)
}

const summaryTokensMin = 400
const summaryTokensMax = 6_000
const ledgerTokensMin = 2_000
const ledgerShare = 0.02
/** Leaves a margin, since the provider's count may be a little higher than the estimate. */
const ledgerMargin = 0.96

function summaryBudget({ limit }: Window): number {
  return Math.min(summaryTokensMax, Math.max(summaryTokensMin, Math.floor(limit / 8)))
}

/** The ledger's budget grows with the history, up to an eighth of the limit. */
function ledgerBudget(historyTokens: number, { limit }: Window): number {
  const wanted = Math.floor(Math.max(ledgerTokensMin, historyTokens * ledgerShare) * ledgerMargin)
  return Number.isFinite(limit) ? Math.min(wanted, Math.floor(limit / 8)) : wanted
}

/**
 * The summary, or the error. An automatic compaction has to make room even if the model fails, so it uses a notice in
 * place of the summary.
 */
async function writeSummary(
  run: Run,
  options: CutOptions & { earlierSummary: string | undefined; items: HistoryItems; usage: Usage },
): Promise<{ text: string; model: ModelRef } | { error: MessageError }> {
  const { loaded, models, mask } = await run.setup()
  const agent = loaded.agents.get("compaction")
  const tokensMax = summaryBudget(options.window)
  const { usage, earlierSummary } = options
  try {
    if (!agent) throw new Error('The compaction agent is disabled. Remove "disable" from its config.')
    const model = agent.model === undefined ? options.model : await models.get(agent.model)
    const { items, instructions } = options
    const text = await summarise(run, { agent, model, earlierSummary, items, instructions, tokensMax, usage })
    return { text, model: model.ref }
  } catch (error) {
    run.signal.throwIfAborted()
    if (!options.auto) {
      const message = `The summary failed: ${mask(errorText(error))}`
      return { error: { name: "UnknownError", data: { message } } }
    }
    const text = [...(earlierSummary === undefined ? [] : [withoutNotice(earlierSummary)]), noSummary].join(
      "\n\n",
    )
    return { text, model: options.model.ref }
  }
}

type HistoryItems = Parameters<typeof planTail>[0]

/** Takes the place of a summary that the model could not write. */
const noSummary =
  "[No summary of the last part of the conversation could be written. A program took the facts in the ledger from the history. Use the recall tool to find anything else.]"

/** The words of the same notice in sessions that an earlier version compacted. */
const earlierNoSummary =
  "[No summary of the last stretch could be written. What the ledger lists was taken from the history by a program; find whatever else is needed with the recall tool.]"

function withoutNotice(summary: string): string {
  return summary.replaceAll(noSummary, "").replaceAll(earlierNoSummary, "").trim()
}

function tokensAfter(
  run: Run,
  options: CutOptions & { cut: number; summary: string; ledger: string },
): number {
  const { memo } = run
  const { overheadTokens, correction, cut, prompts = [] } = options
  let tokens = overheadTokens + estimateTokens(summaryText(options))
  for (let index = memo.base.start + cut; index < memo.sealed.length; index++) tokens += memo.tokensAt(index)
  for (const prompt of prompts) tokens += estimateMessageTokens(prompt)
  tokens -= hiddenLastOutput(run, options)?.tokens ?? 0
  if (options.keepsFirst) tokens += memo.firstTokensBefore(memo.base.start + cut)
  return Math.ceil(tokens * correction)
}

function fitError(
  { tokensBefore = 0, tokensAfter = 0 }: { tokensBefore?: number; tokensAfter?: number },
  { window, auto }: CutOptions,
): MessageError | undefined {
  const fail = (message: string): MessageError => ({ name: "ContextOverflowError", data: { message } })
  if (tokensAfter >= tokensBefore) {
    return fail(
      auto
        ? `A compaction would not make the context smaller: about ${tokensBefore} tokens before, ${tokensAfter} after. Choose a model with a larger context window, or start a new session.`
        : `There is too little to compact: about ${tokensBefore} tokens now, ${tokensAfter} after.`,
    )
  }
  if (tokensAfter <= window.limit) return undefined
  return fail(
    `The context does not fit even after a compaction: about ${tokensAfter} tokens, and there is room for ${window.limit}. Choose a model with a larger context window, or switch tools off.`,
  )
}
