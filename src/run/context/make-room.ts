import type { Agent } from "../../config/agents/agent.ts"
import type { Model } from "../../models/model.ts"
import { ModelError } from "../../models/model-error.ts"
import type { InboxItem, UserBody } from "../../protocol/index.ts"
import { outputOf, type Pruning, planPrune, trimStart } from "../../session/index.ts"
import { revertOps } from "../loop/revert.ts"
import type { Run } from "../loop/run.ts"
import { loadPermissionCheck } from "../permission/permission-check.ts"
import type { Setup } from "../project.ts"
import type { Prompt } from "../step/step.ts"
import { listGrants, type Step } from "../step/step-plan.ts"
import { systemPrompt } from "../step/system-prompt.ts"
import { offeredTools } from "../step/tools/toolbox.ts"
import type { CompactionResult, CompactOptions } from "./compact.ts"
import { promptBefore } from "./compaction-message.ts"
import { windowOf, withRoom } from "./context-window.ts"
import type { MemoContextOptions } from "./history-memo.ts"
import { estimateSystemTokens, estimateToolTokens, isSmall, nextSize } from "./next-call-tokens.ts"
import { isWorthHiding } from "./worth-hiding.ts"

/** The prompt, agent and model of the next model call. */
interface NextCall {
  setup: Setup
  user: UserBody
  agent: Agent | undefined
  model: Model
}

/**
 * Makes room before a step whose model call would not fit: hides old tool output, and compacts if that is not enough.
 * If the model is unknown or no room can be made, returns without an error: the step reports what is wrong.
 */
export async function makeRoom(run: Run, prompts: readonly Prompt[]): Promise<void> {
  if (prompts.length > 0) await applyRevert(run)
  const nextCall = await findNextCall(run, prompts.at(-1)?.message)
  if (!nextCall) return
  const { setup, agent, model } = nextCall
  const { config } = setup.loaded
  if (config.keepFirstMessage) await run.memo.readFirst(run.engine.store, run.sessionID)
  const window = windowOf({ model, agent, config })
  if (!Number.isFinite(window.limit) || run.memo.sealed.length === 0) return
  if (isSmall({ memo: run.memo, shown: shownOptions(run, setup), prompts }, window.limit)) return
  let size = sizeOf(run, nextCall, prompts)
  if (!run.offered && size.tokens > window.limit / 2) {
    await loadOfferedTools(run, nextCall)
    size = sizeOf(run, nextCall, prompts)
  }
  const { limit } = withRoom(window, { overhead: overheadOf(run, nextCall), correction: size.correction })
  if (size.tokens <= limit) return
  if (config.compaction.prune) {
    const pruning = pruningOf(run, setup)
    const isEnough = pruning && size.tokens - pruning.tokens * size.correction <= limit
    if (pruning && (isEnough || !config.compaction.auto)) {
      run.partsToHide = pruning.parts
      return
    }
    // Tool output that takes most of the limit by itself could not be shown, whatever else is hidden.
    const last = tooLargeOutput(run, limit)
    if (last && size.tokens - last.tokens * size.correction <= limit) {
      run.partsToHide = last.parts
      return
    }
  }
  if (!config.compaction.auto || run.hasFailedToCompact || (await isOverBudget(run, setup))) return
  const inRow = run.compactionsInRow.step === run.steps - 1 ? run.compactionsInRow.inRow + 1 : 1
  run.compactionsInRow = { step: run.steps, inRow }
  // If step after step needs a compaction, each step adds more than fits: stop, or the turn would never end.
  const done =
    inRow <= compactionsInRowMax
      ? await compactFor(run, nextCall, { prompts, auto: true, continuesTurn: prompts.length === 0 })
      : "failed"
  if (done !== "done") run.hasFailedToCompact = true
}

const compactionsInRowMax = 4

function tooLargeOutput(run: Run, limit: number): Pruning | undefined {
  const last = run.memo.sealed.at(-1)
  const output = last && outputOf(last)
  return output && output.tokens > limit / 2 ? output : undefined
}

/** No compaction over budget: it costs money, and the step asks a person first. */
async function isOverBudget(run: Run, setup: Setup): Promise<boolean> {
  const budget = run.session.budget ?? setup.loaded.config.budget
  if (budget === undefined || run.isOverBudget) return false
  return (await run.engine.store.session(run.sessionID)).cost >= budget
}

/** Moves the history to the revert mark, so that hidden messages are neither counted nor summarised. */
async function applyRevert(run: Run): Promise<void> {
  const ops = await revertOps(run)
  if (ops.length === 0) return
  const { store } = run.engine
  await run.writer.commit(ops)
  run.session = await store.session(run.sessionID)
  await run.memo.refresh(store, run.session)
}

/** Undefined if there is no prompt or its model cannot be loaded: the step reports that error. */
async function findNextCall(run: Run, next: UserBody | undefined): Promise<NextCall | undefined> {
  const user = next ?? promptBefore(run.memo.items)?.user
  if (!user) return undefined
  try {
    const setup = await run.setup()
    const model = await setup.models.get(`${user.model.providerID}/${user.model.modelID}`)
    return { setup, user, agent: setup.loaded.agents.get(user.agent), model }
  } catch {
    return undefined
  }
}

function sizeOf(run: Run, nextCall: NextCall, prompts: readonly Prompt[] = []) {
  return nextSize({
    memo: run.memo,
    shown: shownOptions(run, nextCall.setup),
    prompts,
    overhead: () => overheadOf(run, nextCall),
  })
}

/** The session's settings for its context. */
export function shownOptions(run: Run, setup: Setup): MemoContextOptions {
  const { config } = setup.loaded
  const maxHistory = run.session.maxHistory ?? config.maxHistory
  return { ...(maxHistory !== undefined && { maxHistory }), keepsFirst: config.keepFirstMessage }
}

/** Assumed size of the tool descriptions while no step of this run has offered tools and the context is small. */
const unknownToolTokens = 3_000

/** Finds the tools that the next step will offer, unless an earlier step has. */
async function loadOfferedTools(run: Run, { setup, agent, user }: NextCall): Promise<void> {
  if (run.offered || !agent) return
  const { store, projects } = run.engine
  const { session } = run
  const grants = await listGrants(run)
  const permissionCheck = await loadPermissionCheck({
    store,
    projects,
    setup,
    session,
    agent,
    tools: user.tools,
    grants,
  })
  run.offered = (await offeredTools({ setup, agent, permissionCheck })).offered
}

function overheadOf(run: Run, { setup, agent, user }: NextCall): number {
  const tools = run.offered ? estimateToolTokens(run.offered) : unknownToolTokens
  if (!agent) return tools
  const { workspace } = run.project
  const nowMs = run.engine.clock.now()
  return (
    tools + estimateSystemTokens(systemPrompt({ agent, setup, workspace, user, nowMs, isLastStep: false }))
  )
}

/** Old tool output to hide. Only output in the shown items counts: hiding trimmed items saves nothing. */
function pruningOf(run: Run, setup: Setup): Pruning | undefined {
  const { base, sealed } = run.memo
  const { maxHistory } = shownOptions(run, setup)
  const start = trimStart(sealed, { maxHistory, from: base.start })
  return planPrune(sealed.slice(start), { isPruned: (id) => base.pruned.has(id) })
}

async function compactFor(
  run: Run,
  nextCall: NextCall,
  options: Pick<CompactOptions, "auto" | "continuesTurn"> &
    Partial<CompactOptions> & { prompts?: readonly Prompt[] },
): Promise<CompactionResult> {
  await loadOfferedTools(run, nextCall)
  if (nextCall.setup.loaded.config.keepFirstMessage) await run.memo.readFirst(run.engine.store, run.sessionID)
  const { tokens, correction } = sizeOf(run, nextCall, options.prompts)
  const overheadTokens = overheadOf(run, nextCall)
  const { user, agent, model } = nextCall
  run.notifyWaiting()
  // Few turns compact, and this brings the ledger's tables, which are a third of the program.
  const { compact } = await import("./compact.ts")
  return compact(run, { user, agent, model, tokensBefore: tokens, overheadTokens, correction, ...options })
}

/** Compacts because a caller requested it, and takes the request from the inbox. */
export async function compactByRequest(
  run: Run,
  item: Extract<InboxItem, { type: "compact" }>,
  { continuesTurn }: { continuesTurn: boolean },
): Promise<CompactionResult> {
  const { sessionID } = run
  const take = { op: "inbox.take" as const, sessionID, itemID: item.id }
  if (isTooShortToCompact(run) || (run.session.revert && !(await findNextCall(run, undefined)))) {
    await run.writer.commit([take])
    return "nothing"
  }
  await applyRevert(run)
  const nextCall = run.memo.sealed.length > 0 ? await findNextCall(run, undefined) : undefined
  const done = nextCall
    ? await compactFor(run, nextCall, {
        auto: false,
        continuesTurn,
        ops: [take],
        messageID: item.id,
        ...(item.instructions !== undefined && { instructions: item.instructions }),
      })
    : "nothing"
  if (done === "nothing") await run.writer.commit([take])
  return done
}

/** True if the history before a revert mark is too short for a summary. Then the revert is not applied either. */
function isTooShortToCompact({ session, memo }: Run): boolean {
  const { revert } = session
  const end = revert ? memo.sealed.findIndex(({ message }) => message.id === revert.messageID) : -1
  if (end < 0) return false
  return !isWorthHiding({ from: memo.base.start, to: end, tokensAt: (index) => memo.tokensAt(index) })
}

/**
 * Handles a provider error that says that the context is too long. The first time, hides old tool output and asks for
 * the same call `again`. If there is no old output, or hiding it was not enough, the open message becomes a compaction,
 * and the run continues after it. Undefined if the error is another one or no room can be made.
 */
export async function afterOverflow(plan: Step, error: unknown): Promise<"again" | "compacted" | undefined> {
  const { run, openMessage, setup, user, agent, model } = plan
  if (!(error instanceof ModelError) || error.kind !== "context" || run.signal.aborted) return undefined
  if (run.compactionsInRow.inRow > compactionsInRowMax) return undefined
  const { compaction } = setup.loaded.config
  const pruning = run.overflows++ === 0 && compaction.prune ? pruningOf(run, setup) : undefined
  if (pruning) {
    await hideOutput(plan, pruning.parts)
    return "again"
  }
  if (!compaction.auto || run.overflowCompactions >= overflowCompactionsMax) return undefined
  await dropFailedAttempt(plan)
  const nextCall: NextCall = { setup, user, agent, model }
  const keepsLeast = run.overflowCompactions++ > 0
  const done = await compactFor(run, nextCall, { auto: true, continuesTurn: true, openMessage, keepsLeast })
  return done === "done" ? "compacted" : undefined
}

/** The first compaction keeps a normal tail, the second one the smallest tail. */
const overflowCompactionsMax = 2

/** Removes the parts that the model streamed before the error. */
async function dropFailedAttempt({ run, openMessage }: Step): Promise<void> {
  const keep = openMessage.parts.findLastIndex(({ type }) => type === "step-start" || type === "retry") + 1
  if (keep < openMessage.parts.length)
    await run.writer.commit([...openMessage.flushOps(), openMessage.truncateOp(keep)])
}

async function hideOutput(plan: Step, parts: string[]): Promise<void> {
  const { run, openMessage } = plan
  await dropFailedAttempt(plan)
  const start = openMessage.parts.find((part) => part.type === "step-start")
  const prune = { time: run.engine.clock.now(), parts }
  const id = start?.id ?? run.newID("part")
  await run.writer.commit([
    ...openMessage.flushOps(),
    openMessage.putOp({ ...start, id, type: "step-start", prune }),
  ])
  run.memo.replaceLast({ ...openMessage.item(run.memo.last!.version), sealed: false })
}
