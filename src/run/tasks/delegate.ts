import type { Agent } from "../../config/agents/agent.ts"
import type { HistoryItem, JsonObject, ModelRef, TextSpans } from "../../protocol/index.ts"
import { cutText } from "../../tools/output.ts"
import { taskOutput, unknownAgent } from "../../tools/task.ts"
import type { Task, TaskCall, TaskDone } from "../../tools/tool.ts"
import { Aborted } from "../loop/run.ts"
import { modelRef, promptItem } from "../prompt/prompt.ts"
import { answerTo, submit } from "../prompt/submit.ts"
import { abortTree, isBusy } from "../schedule/activity.ts"
import type { Step } from "../step/step-plan.ts"
import { planChild, taskPromptID } from "./child-session.ts"
import { isSubagent } from "./task-agents.ts"
import { type Deadline, startDeadline } from "./task-deadline.ts"
import { callsOf, followCalls } from "./task-summary.ts"

/**
 * Limits the returned answer, so that the result with its `<task_metadata>` block stays below the tool output limit.
 */
const answerUnitsMax = 15_000
const answerLinesMax = 1_500

export interface Delegation {
  task: Task
  /** The part of the task call. */
  partID: string
  /** The metadata that the part already has. */
  metadata: JsonObject | undefined
  /** The model that the task names, if any. */
  model?: ModelRef
  /** The spans of the prompt whose references need no permission question. */
  fixed?: TextSpans
  /** Which references in the prompt are resolved; all if absent. */
  references?: "files" | "none"
  /** Writes metadata into the part, in one commit with other operations. */
  announce: (metadata: JsonObject, ops: Parameters<Step["run"]["writer"]["commit"]>[0]) => Promise<void>
  /** Shows progress in the part. */
  report: (metadata: JsonObject) => void
}

/**
 * Runs a task of another agent in a child session and returns its answer. Repeating a call makes no second child or
 * prompt: after a crash, an existing answer is returned, and an interrupted child is continued.
 */
export async function delegate(step: Step, delegation: Delegation): Promise<TaskDone> {
  const { run, setup } = step
  const { coordinator } = run
  const { childSlots } = coordinator
  const { concurrency, depth, deadlineMs } = setup.loaded.config.task
  const agent = subagent(step, delegation.task.agent)
  const { depth: above } = await step.judge()
  if (above >= depth) throw tooDeepError(depth)
  const releaseSlot = await childSlots.enter(run.sessionID, { slots: concurrency, signal: run.signal })
  let takenChildID: string | undefined
  try {
    const model = modelOf(step, { agent, given: delegation.model })
    const child = await planChild(step, { ...delegation, agent, model })
    if (!childSlots.take(child.sessionID)) throw busyError(child.sessionID)
    takenChildID = child.sessionID
    if (child.isContinued && (await isBusy(coordinator, child.sessionID))) throw busyError(child.sessionID)
    await delegation.announce({ sessionId: child.sessionID }, child.ops)
    if (!child.isContinued && child.ops.length > 0) run.engine.metrics.sessionCreated("child")
    const deadline = startDeadline(run.engine, { rootID: child.sessionID, limitMs: deadlineMs })
    try {
      return await runTask(step, { delegation, agent, model, childID: child.sessionID, deadline })
    } finally {
      deadline.stop()
    }
  } finally {
    if (takenChildID !== undefined) childSlots.giveBack(takenChildID)
    releaseSlot()
  }
}

function subagent({ setup }: Step, name: string): Agent {
  const agent = setup.loaded.agents.get(name)
  if (agent && isSubagent(agent)) return agent
  throw unknownAgent(name, [...setup.loaded.agents.values()].filter(isSubagent))
}

/** The model of the task, else of the agent, else of the message that gives the task. */
function modelOf(
  { openMessage }: Step,
  { agent, given }: { agent: Agent; given: ModelRef | undefined },
): ModelRef {
  if (given) return given
  const { providerID, modelID } = openMessage.message
  if (agent.model === undefined) return { providerID, modelID }
  return modelRef(agent.model)
}

interface TaskRun {
  delegation: Delegation
  agent: Agent
  model: ModelRef
  childID: string
  deadline: Deadline
}

async function runTask(
  step: Step,
  { delegation, agent, model, childID, deadline }: TaskRun,
): Promise<TaskDone> {
  const { run, user } = step
  const { coordinator, engine } = run
  const { task, partID } = delegation
  const session = await engine.store.session(childID)
  // A model may quote its user's prompt. The child resolves no more references in the quote than this session did.
  const references = delegation.references ?? user.references
  const isInherited = agent.model === undefined && delegation.model === undefined
  const prompt = await promptItem({
    engine,
    session,
    parts: [{ type: "text", text: task.prompt }],
    prompt: {
      messageID: taskPromptID(partID),
      agent: agent.name,
      model: `${model.providerID}/${model.modelID}`,
      ...(references && { references }),
      ...(user.unattended && { unattended: true }),
      ...(isInherited && user.variant !== undefined && { variant: user.variant }),
    },
    ...(delegation.fixed && { fixed: delegation.fixed }),
  })
  const calls = followCalls(engine.hub, {
    sessionID: childID,
    onChange: (summary) => delegation.report({ summary }),
  })
  try {
    run.telemetry.keepContextFor({ partID, promptID: prompt.id })
    const admitted = await submit(coordinator, prompt, { isNamed: true })
    const answer = answerTo(coordinator, prompt, admitted)
    answer.catch(() => {})
    const { item } = await waitForAnswer(step, { answer, childID, deadline })
    calls.stop()
    const summary = await callsOf(engine.store, { sessionID: childID, promptID: prompt.id })
    return resultOrThrow(item, { delegation, childID, summary })
  } finally {
    calls.stop()
  }
}

interface TaskWait {
  answer: Promise<{ item: HistoryItem; isOld: boolean }>
  childID: string
  deadline: Deadline
}

/**
 * Waits for the child's answer. If the parent is aborted or the deadline passes, the child and its descendants are
 * aborted, and the answer is what the child had done until then. An abort that fails ends the wait.
 */
async function waitForAnswer(
  step: Step,
  { answer, childID, deadline }: TaskWait,
): Promise<{ item: HistoryItem }> {
  const { run } = step
  const stopped = Promise.withResolvers<never>()
  stopped.promise.catch(() => {})
  const stop = () => {
    const { reason } = run.signal
    // If the process closes or has lost the lease, the child is not aborted: the process that continues the parent
    // continues the child.
    if (!(reason instanceof Aborted)) stopped.reject(reason)
    else abortTree(run.coordinator, childID, "The parent session was aborted.").catch(stopped.reject)
  }
  if (run.signal.aborted) stop()
  else run.signal.addEventListener("abort", stop, { once: true })
  try {
    const first = await Promise.race([answer, stopped.promise, deadline.passed])
    if (first !== "late") return first
    await abortTree(run.coordinator, childID, `The task exceeded its time limit of ${deadline.limitText}.`)
    return await Promise.race([answer, stopped.promise])
  } finally {
    run.signal.removeEventListener("abort", stop)
  }
}

/** The result of the task. If the child failed, throws an error with the reason and the agent's last text. */
function resultOrThrow(
  { message, parts }: HistoryItem,
  { delegation, childID, summary }: { delegation: Delegation; childID: string; summary: TaskCall[] },
): TaskDone {
  const text = parts.findLast((part) => part.type === "text" && !part.ignored && part.text.trim() !== "")
  const answer = shortened(text?.type === "text" ? text.text : "")
  if (message.role !== "assistant") throw new Error("The agent gave no answer.")
  const why = failureOf(message)
  if (why === undefined)
    return { sessionID: childID, text: answer || "(The agent ended without a text.)", summary }
  // A successful result contains the summary. A failed call keeps the metadata that was reported last.
  delegation.report({ summary })
  throw new Error(taskOutput(answer === "" ? why : `${why}\nIts last text:\n${answer}`, childID))
}

/** Cuts a long answer here, so that the block after the answer is not cut off by the tool output limit. */
function shortened(text: string): string {
  const lines = text.split("\n", answerLinesMax + 1)
  if (text.length <= answerUnitsMax && lines.length <= answerLinesMax) return text
  const head = cutText(lines.slice(0, answerLinesMax).join("\n"), answerUnitsMax)
  return `${head}\n\n(The answer was cut here. Use recall with the session id below to read all of it.)`
}

function failureOf(message: Extract<HistoryItem["message"], { role: "assistant" }>): string | undefined {
  const { error, finish } = message
  if (finish === "rejected") return "The agent was stopped: a person rejected what it wanted to do."
  if (error?.name === "MessageAbortedError") return `The agent was aborted: ${error.data.message}`
  if (error?.name === "InterruptedError") return `The agent was interrupted too often: ${error.data.message}`
  // An answer that reached the output limit is still an answer.
  if (error && error.name !== "MessageOutputLengthError") return `The agent failed: ${error.data.message}`
  return undefined
}

function tooDeepError(depth: number): Error {
  const levels = depth === 1 ? "one level" : `${depth} levels`
  return new Error(`Tasks may be nested ${levels} deep (task.depth in the config). Do this task yourself.`)
}

function busyError(sessionID: string): Error {
  return new Error(
    `Session ${sessionID} is busy with another task. Wait for its result, or leave out session_id to start a new session.`,
  )
}
