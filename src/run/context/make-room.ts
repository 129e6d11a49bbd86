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
import { type Compacted, type CompactOptions, compact, isWorthHiding } from "./compact.ts"
import { promptBefore } from "./compaction-message.ts"
import { windowOf, withRoom } from "./context-window.ts"
import type { MemoContextOptions } from "./history-memo.ts"
import { estimateSystemTokens, estimateToolTokens, isSmall, nextSize } from "./next-call-tokens.ts"

/** Who will ask the model, and with which model. */
interface Asking {
  setup: Setup
  user: UserBody
  agent: Agent | undefined
  model: Model
}

/**
 * Before a step: if its call would not fit, hides old tool output, and if that is not enough compacts. What cannot be known
 * or done is left to the step: it says what was wrong.
 */
export async function makeRoom(run: Run, prompts: readonly Prompt[]): Promise<void> {
  if (prompts.length > 0) await makeRevertReal(run)
  const asking = await askingNext(run, prompts.at(-1)?.message)
  if (!asking) return
  const { setup, agent, model } = asking
  const { config } = setup.loaded
  if (config.keepFirstMessage) await run.memo.readFirst(run.engine.store, run.sessionID)
  const window = windowOf({ model, agent, config })
  if (!Number.isFinite(window.limit) || run.memo.sealed.length === 0) return
  if (isSmall({ memo: run.memo, shown: shownOptions(run, setup), prompts }, window.limit)) return
  let size = sizeOf(run, asking, prompts)
  if (!run.offered && size.tokens > window.limit / 2) {
    await knowTools(run, asking)
    size = sizeOf(run, asking, prompts)
  }
  const { limit } = withRoom(window, { overhead: overheadOf(run, asking), correction: size.correction })
  if (size.tokens <= limit) return
  if (config.compaction.prune) {
    const pruning = pruningOf(run, setup)
    const isEnough = pruning && size.tokens - pruning.tokens * size.correction <= limit
    if (pruning && (isEnough || !config.compaction.auto)) {
      run.pruning = pruning.parts
      return
    }
    // A result that alone is too large is of no use to the model, whatever else is hidden.
    const last = tooLargeOutput(run, limit)
    if (last && size.tokens - last.tokens * size.correction <= limit) {
      run.pruning = last.parts
      return
    }
  }
  if (!config.compaction.auto || run.hasFailedToCompact || (await isOverBudget(run, setup))) return
  const inRow = run.compacted.step === run.steps - 1 ? run.compacted.inRow + 1 : 1
  run.compacted = { step: run.steps, inRow }
  // Step after step brings more than there is room for: to go on so would be without end.
  const done =
    inRow <= inRowMax
      ? await compactFor(run, asking, { prompts, auto: true, goesOn: prompts.length === 0 })
      : "failed"
  if (done !== "done") run.hasFailedToCompact = true
}

const inRowMax = 4

function tooLargeOutput(run: Run, limit: number): Pruning | undefined {
  const last = run.memo.sealed.at(-1)
  const output = last && outputOf(last)
  return output && output.tokens > limit / 2 ? output : undefined
}

/** A person is asked by the step before any more is spent. */
async function isOverBudget(run: Run, setup: Setup): Promise<boolean> {
  const budget = run.session.budget ?? setup.loaded.config.budget
  if (budget === undefined || run.isOverBudget) return false
  return (await run.engine.store.session(run.sessionID)).cost >= budget
}

/** What a revert hides is not to be counted, and still less to be summarised. */
async function makeRevertReal(run: Run): Promise<void> {
  const ops = await revertOps(run)
  if (ops.length === 0) return
  const { store } = run.engine
  await run.writer.commit(ops)
  run.session = await store.session(run.sessionID)
  await run.memo.refresh(store, run.session)
}

/** Undefined where the step itself will say what is wrong. */
async function askingNext(run: Run, next: UserBody | undefined): Promise<Asking | undefined> {
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

function sizeOf(run: Run, asking: Asking, prompts: readonly Prompt[] = []) {
  return nextSize({
    memo: run.memo,
    shown: shownOptions(run, asking.setup),
    prompts,
    overhead: () => overheadOf(run, asking),
  })
}

/** What the context of a session leaves out by itself. */
export function shownOptions(run: Run, setup: Setup): MemoContextOptions {
  const { config } = setup.loaded
  const maxHistory = run.session.maxHistory ?? config.maxHistory
  return { ...(maxHistory !== undefined && { maxHistory }), keepsFirst: config.keepFirstMessage }
}

/** Where no step of this run has offered its tools yet, and there is so much room that they need not be looked at. */
const unknownToolTokens = 3_000

/** Looks up which tools the next step will offer. */
async function knowTools(run: Run, { setup, agent, user }: Asking): Promise<void> {
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

function overheadOf(run: Run, { setup, agent, user }: Asking): number {
  const tools = run.offered ? estimateToolTokens(run.offered) : unknownToolTokens
  if (!agent) return tools
  const { workspace } = run.project
  const nowMs = run.engine.clock.now()
  return (
    tools + estimateSystemTokens(systemPrompt({ agent, setup, workspace, user, nowMs, isLastStep: false }))
  )
}

/** Of what is shown: nothing is saved by hiding what is trimmed anyway. */
function pruningOf(run: Run, setup: Setup): Pruning | undefined {
  const { base, sealed } = run.memo
  const { maxHistory } = shownOptions(run, setup)
  const start = trimStart(sealed, { maxHistory, from: base.start })
  return planPrune(sealed.slice(start), { isPruned: (id) => base.pruned.has(id) })
}

async function compactFor(
  run: Run,
  asking: Asking,
  options: Pick<CompactOptions, "auto" | "goesOn"> &
    Partial<CompactOptions> & { prompts?: readonly Prompt[] },
): Promise<Compacted> {
  await knowTools(run, asking)
  if (asking.setup.loaded.config.keepFirstMessage) await run.memo.readFirst(run.engine.store, run.sessionID)
  const { tokens, correction } = sizeOf(run, asking, options.prompts)
  const overhead = overheadOf(run, asking)
  const { user, agent, model } = asking
  run.tellAsking()
  return compact(run, { user, agent, model, tokensBefore: tokens, overhead, correction, ...options })
}

/** A person has asked for it. Gives why there is none. */
export async function compactByRequest(
  run: Run,
  item: Extract<InboxItem, { type: "compact" }>,
  { goesOn }: { goesOn: boolean },
): Promise<"done" | "failed" | "nothing"> {
  const { sessionID } = run
  const take = { op: "inbox.take" as const, sessionID, itemID: item.id }
  if (leavesTooLittle(run) || (run.session.revert && !(await askingNext(run, undefined)))) {
    await run.writer.commit([take])
    return "nothing"
  }
  await makeRevertReal(run)
  const asking = run.memo.sealed.length > 0 ? await askingNext(run, undefined) : undefined
  const done = asking
    ? await compactFor(run, asking, {
        auto: false,
        goesOn,
        ops: [take],
        messageID: item.id,
        ...(item.instructions !== undefined && { instructions: item.instructions }),
      })
    : "nothing"
  if (done === "nothing") await run.writer.commit([take])
  return done
}

/** True if a revert leaves nothing that is worth a summary: then it is not made real for one. */
function leavesTooLittle({ session, memo }: Run): boolean {
  const { revert } = session
  const end = revert ? memo.sealed.findIndex(({ message }) => message.id === revert.messageID) : -1
  if (end < 0) return false
  return !isWorthHiding({ from: memo.base.start, to: end, tokensAt: (index) => memo.tokensAt(index) })
}

/**
 * The provider says that the context is too long, whatever we thought. First old tool output is hidden and the same call is
 * made again; if there is none, or it was not enough, the message becomes a compaction and the run goes on after it.
 */
export async function afterOverflow(plan: Step, error: unknown): Promise<"again" | "compacted" | undefined> {
  const { run, open, setup, user, agent, model } = plan
  if (!(error instanceof ModelError) || error.kind !== "context" || run.signal.aborted) return undefined
  if (run.compacted.inRow > inRowMax) return undefined
  const { compaction } = setup.loaded.config
  const pruning = run.overflows++ === 0 && compaction.prune ? pruningOf(run, setup) : undefined
  if (pruning) {
    await putPruning(plan, pruning.parts)
    return "again"
  }
  if (!compaction.auto || run.overflowCompactions >= overflowCompactionsMax) return undefined
  await forgetTry(plan)
  const asking: Asking = { setup, user, agent, model }
  const isSmallest = run.overflowCompactions++ > 0
  const done = await compactFor(run, asking, { auto: true, goesOn: true, open, isSmallest })
  return done === "done" ? "compacted" : undefined
}

/** One, and one that leaves as little as it can. */
const overflowCompactionsMax = 2

/** Takes away what the model had begun to say before the error came. */
async function forgetTry({ run, open }: Step): Promise<void> {
  const keep = open.parts.findLastIndex(({ type }) => type === "step-start" || type === "retry") + 1
  if (keep < open.parts.length) await run.writer.commit([...open.flushOps(), open.truncateOp(keep)])
}

async function putPruning(plan: Step, parts: string[]): Promise<void> {
  const { run, open } = plan
  await forgetTry(plan)
  const start = open.parts.find((part) => part.type === "step-start")
  const prune = { time: run.engine.clock.now(), parts }
  const id = start?.id ?? run.engine.newID("part")
  await run.writer.commit([...open.flushOps(), open.putOp({ ...start, id, type: "step-start", prune })])
  run.memo.replaceLast({ ...open.item(run.memo.last!.version), sealed: false })
}
