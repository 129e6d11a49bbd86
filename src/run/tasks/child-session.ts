import type { Agent } from "../../config/agents/agent.ts"
import {
  type HistoryItem,
  type JsonObject,
  type ModelRef,
  type NewSession,
  type Session,
  version,
} from "../../protocol/index.ts"
import type { Op } from "../../stores/commit.ts"
import type { Store } from "../../stores/store.ts"
import type { Task } from "../../tools/tool.ts"
import { findSession } from "../api/find-session.ts"
import type { Step } from "../step/step-plan.ts"

/** The session that a task is done in, and what must be committed before it begins. */
export interface ChildPlan {
  sessionID: string
  ops: Op[]
  /** It was there before this task, so somebody may be using it. */
  isContinued: boolean
}

interface ChildOptions {
  task: Task
  agent: Agent
  model: ModelRef
  partID: string
  /** What the call's part says already: after a crash, which session it was. */
  metadata: JsonObject | undefined
}

/** One call makes one child, however often it is run: its id follows from that of the call's part. */
export function childID(partID: string): string {
  return `ses_${partID.slice(4)}`
}

/** The same for the prompt that a call sends. */
export function taskPromptID(partID: string): string {
  return `msg_${partID.slice(4)}`
}

export async function planChild(step: Step, options: ChildOptions): Promise<ChildPlan> {
  const { run } = step
  const { store } = run.engine
  const named = await namedBefore(step, options.metadata)
  if (named) return { sessionID: named.id, ops: [], isContinued: false }
  const own = childID(options.partID)
  if (await findSession(store, own)) return { sessionID: own, ops: [], isContinued: false }
  const wanted = options.task.sessionID
  const found = wanted === undefined ? undefined : await findSession(store, wanted)
  if (found?.parentID === run.sessionID) {
    const caller = callerOf(step)
    const set = { caller, agent: options.agent.name, time: { updated: laterOf(step, found) } }
    return {
      sessionID: found.id,
      ops: [{ op: "session.patch", sessionID: found.id, set }],
      isContinued: true,
    }
  }
  const session = newChild(step, { ...options, id: own })
  const segment = run.engine.newID("segment")
  const inherited = found && (await inheritedChild(step, found))
  if (!inherited)
    return { sessionID: own, ops: [{ op: "session.create", session, segment }], isContinued: false }
  const fork: Op = {
    op: "session.fork",
    sourceID: inherited.session.id,
    ...(inherited.before && { messageID: inherited.before }),
    session,
    segment,
  }
  return { sessionID: own, ops: [fork], isContinued: false }
}

/** The session that the call's part names, from before a crash. */
async function namedBefore(step: Step, metadata: JsonObject | undefined): Promise<Session | undefined> {
  const { run } = step
  const id = metadata?.sessionId
  const found = typeof id === "string" ? await findSession(run.engine.store, id) : undefined
  return found?.parentID === run.sessionID ? found : undefined
}

function laterOf(step: Step, { time }: Session): number {
  return Math.max(time.updated, step.run.engine.clock.now())
}

/** As whom the parent speaks when it gives the task: its rights bound those of the child. */
function callerOf({ open, user, agent }: Step): NonNullable<Session["caller"]> {
  return { messageID: open.message.id, agent: agent.name, ...(user.tools && { tools: user.tools }) }
}

function newChild(step: Step, options: ChildOptions & { id: string }): NewSession {
  const { run } = step
  const { task, agent, model, id } = options
  const now = run.engine.clock.now()
  return {
    id,
    projectID: run.session.projectID,
    directory: run.session.directory,
    parentID: run.sessionID,
    caller: callerOf(step),
    agent: agent.name,
    model,
    title: `${task.description} (@${agent.name} subagent)`,
    version,
    time: { created: now, updated: now },
  }
}

const forksMax = 32

/**
 * A child of a session that this one was forked from, as it was when the fork was made: what was said in it later is none of
 * this session's business.
 */
async function inheritedChild(
  { run }: Step,
  child: Session,
): Promise<{ session: Session; before?: string } | undefined> {
  const { store } = run.engine
  const parents = run.session.parentID === undefined ? [] : await store.parents(run.sessionID)
  // A fork of a child may be made long after the fork of what is above it.
  const above = parents.filter(({ forkedFrom }) => forkedFrom !== undefined)
  let fork: Session | undefined = run.session
  for (let count = 0; fork?.forkedFrom && count < forksMax; count++) {
    const sourceID: string = fork.forkedFrom.sessionID
    if (child.parentID === sourceID) {
      const madeMs = Math.min(...[fork, ...above].map(({ time }) => time.created))
      if (child.time.created > madeMs) return undefined
      const later = await firstAfter(store, { sessionID: child.id, timeMs: madeMs })
      return { session: child, ...(later && { before: later.message.id }) }
    }
    fork = await findSession(store, sourceID)
  }
  return undefined
}

/** The prompt of the first turn that was not over at a moment. */
async function firstAfter(
  store: Store,
  { sessionID, timeMs }: { sessionID: string; timeMs: number },
): Promise<HistoryItem | undefined> {
  let found: HistoryItem | undefined
  let isLater = false
  for (let to: number | undefined; ; ) {
    const { items, more } = await store.history(sessionID, { limit: 100, ...(to !== undefined && { to }) })
    for (const item of items.toReversed()) {
      const { message } = item
      if (message.role === "assistant") {
        const isWhole = (message.time.completed ?? Number.POSITIVE_INFINITY) <= timeMs
        const endsTurn = message.finish !== "tool-calls" && !message.summary
        if (isWhole && endsTurn) return found
        isLater = !isWhole || (isLater && !endsTurn)
      } else {
        isLater ||= message.time.created > timeMs
        if (isLater) found = item
      }
    }
    to = items[0]?.position
    if (!more || to === undefined) return found
  }
}
