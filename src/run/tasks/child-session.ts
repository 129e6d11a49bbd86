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

/** The session that a task runs in, and the operations to commit before it starts. */
export interface ChildPlan {
  sessionID: string
  ops: Op[]
  /** The session existed before this task, so another run may be using it. */
  isContinued: boolean
}

interface ChildOptions {
  task: Task
  agent: Agent
  model: ModelRef
  partID: string
  /** The metadata of the call's part. After a crash it names the child session. */
  metadata: JsonObject | undefined
}

/** The child's id is derived from the id of the call's part, so that a repeated call finds the same child. */
export function childID(partID: string): string {
  return `ses_${partID.slice(4)}`
}

/** The same for the prompt that the call sends. */
export function taskPromptID(partID: string): string {
  return `msg_${partID.slice(4)}`
}

export async function planChild(step: Step, options: ChildOptions): Promise<ChildPlan> {
  const { run } = step
  const { store } = run.engine
  const earlier = await childFromMetadata(step, options.metadata)
  if (earlier) return { sessionID: earlier.id, ops: [], isContinued: false }
  const id = childID(options.partID)
  if (await findSession(store, id)) return { sessionID: id, ops: [], isContinued: false }
  const requestedID = options.task.sessionID
  const requested = requestedID === undefined ? undefined : await findSession(store, requestedID)
  if (requested?.parentID === run.sessionID) {
    const caller = callerOf(step)
    const set = { caller, agent: options.agent.name, time: { updated: updatedTime(step, requested) } }
    return {
      sessionID: requested.id,
      ops: [{ op: "session.patch", sessionID: requested.id, set }],
      isContinued: true,
    }
  }
  const session = newChild(step, { ...options, id })
  const segment = run.newID("segment")
  const inherited = requested && (await inheritedChild(step, requested))
  if (!inherited)
    return { sessionID: id, ops: [{ op: "session.create", session, segment }], isContinued: false }
  const fork: Op = {
    op: "session.fork",
    sourceID: inherited.session.id,
    ...(inherited.before && { messageID: inherited.before }),
    session,
    segment,
  }
  return { sessionID: id, ops: [fork], isContinued: false }
}

/** The child session that the call's part names, if the call began before a crash. */
async function childFromMetadata(step: Step, metadata: JsonObject | undefined): Promise<Session | undefined> {
  const { run } = step
  const id = metadata?.sessionId
  const session = typeof id === "string" ? await findSession(run.engine.store, id) : undefined
  return session?.parentID === run.sessionID ? session : undefined
}

function updatedTime(step: Step, { time }: Session): number {
  return Math.max(time.updated, step.run.engine.clock.now())
}

/** The agent and tool switches with which the parent gives the task. They limit what the child may do. */
function callerOf({ openMessage, user, agent }: Step): NonNullable<Session["caller"]> {
  return { messageID: openMessage.message.id, agent: agent.name, ...(user.tools && { tools: user.tools }) }
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
 * A child of a session from which this one was forked. `before` is set if the child has later messages: the fork must
 * end before that message, since this session must not see what happened after its own fork.
 */
async function inheritedChild(
  { run }: Step,
  child: Session,
): Promise<{ session: Session; before?: string } | undefined> {
  const { store } = run.engine
  const parents = run.session.parentID === undefined ? [] : await store.parents(run.sessionID)
  // A child may have been forked long after its ancestors were: the earliest fork counts.
  const above = parents.filter(({ forkedFrom }) => forkedFrom !== undefined)
  let fork: Session | undefined = run.session
  for (let count = 0; fork?.forkedFrom && count < forksMax; count++) {
    const sourceID: string = fork.forkedFrom.sessionID
    if (child.parentID === sourceID) {
      const forkedMs = Math.min(...[fork, ...above].map(({ time }) => time.created))
      if (child.time.created > forkedMs) return undefined
      const later = await firstPromptAfter(store, { sessionID: child.id, timeMs: forkedMs })
      return { session: child, ...(later && { before: later.message.id }) }
    }
    fork = await findSession(store, sourceID)
  }
  return undefined
}

/** The prompt of the first turn that was not over at that time. */
async function firstPromptAfter(
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
