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
import { callsOf, watchCalls } from "./task-summary.ts"

/** More of an answer is not given back: a result with its end has to stay below what any output may have. */
const answerUnitsMax = 15_000
const answerLinesMax = 1_500

export interface Delegation {
  task: Task
  /** The part of the call that gives the task. */
  partID: string
  /** What that part says already. */
  metadata: JsonObject | undefined
  /** The model that the task names, if it names one. */
  model?: ModelRef
  /** Where in its prompt references stand that need no question. */
  fixed?: TextSpans
  /** Which references in it are resolved; all if absent. */
  references?: "files" | "none"
  /** Writes into the part, with other operations in the same commit. */
  announce: (metadata: JsonObject, ops: Parameters<Step["run"]["writer"]["commit"]>[0]) => Promise<void>
  /** Shows progress. */
  report: (metadata: JsonObject) => void
}

/**
 * Has a task done by another agent in a session below this one. However often it is run for one call, there is one child
 * with one prompt: after a crash an answer that is there is taken, and a child that was cut off is gone on with.
 */
export async function delegate(step: Step, delegation: Delegation): Promise<TaskDone> {
  const { run, setup } = step
  const { coordinator } = run
  const { childSlots } = coordinator
  const { concurrency, depth, deadlineMs } = setup.loaded.config.task
  const agent = subagent(step, delegation.task.agent)
  const { depth: above } = await step.judge()
  if (above >= depth) throw tooDeep(depth)
  const leave = await childSlots.enter(run.sessionID, { slots: concurrency, signal: run.signal })
  let taken: string | undefined
  try {
    const model = modelOf(step, { agent, given: delegation.model })
    const child = await planChild(step, { ...delegation, agent, model })
    if (!childSlots.take(child.sessionID)) throw busy(child.sessionID)
    taken = child.sessionID
    if (child.isContinued && (await isBusy(coordinator, child.sessionID))) throw busy(child.sessionID)
    await delegation.announce({ sessionId: child.sessionID }, child.ops)
    if (!child.isContinued && child.ops.length > 0) run.engine.metrics.sessionCreated("child")
    const deadline = startDeadline(run.engine, { rootID: child.sessionID, limitMs: deadlineMs })
    try {
      return await ask(step, { delegation, agent, model, childID: child.sessionID, deadline })
    } finally {
      deadline.stop()
    }
  } finally {
    if (taken !== undefined) childSlots.giveBack(taken)
    leave()
  }
}

function subagent({ setup }: Step, name: string): Agent {
  const agent = setup.loaded.agents.get(name)
  if (agent && isSubagent(agent)) return agent
  throw unknownAgent(name, [...setup.loaded.agents.values()].filter(isSubagent))
}

/** The task's own, the agent's, or that of the message that gives it. */
function modelOf({ open }: Step, { agent, given }: { agent: Agent; given: ModelRef | undefined }): ModelRef {
  if (given) return given
  const { providerID, modelID } = open.message
  if (agent.model === undefined) return { providerID, modelID }
  return modelRef(agent.model)
}

interface Asking {
  delegation: Delegation
  agent: Agent
  model: ModelRef
  childID: string
  deadline: Deadline
}

async function ask(step: Step, { delegation, agent, model, childID, deadline }: Asking): Promise<TaskDone> {
  const { run, user } = step
  const { coordinator, engine } = run
  const { task, partID } = delegation
  const session = await engine.store.session(childID)
  // A model may quote what its user wrote: it is looked up no more in the child than it was here.
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
  const calls = watchCalls(engine.hub, {
    sessionID: childID,
    onChange: (summary) => delegation.report({ summary }),
  })
  try {
    run.telemetry.handOn({ partID, promptID: prompt.id })
    const admitted = await submit(coordinator, prompt, { isNamed: true })
    const answer = answerTo(coordinator, prompt, admitted)
    answer.catch(() => {})
    const { item } = await endOf(step, { answer, childID, deadline })
    calls.stop()
    const summary = await callsOf(engine.store, { sessionID: childID, promptID: prompt.id })
    return doneOrThrow(item, { delegation, childID, summary })
  } finally {
    calls.stop()
  }
}

interface Ending {
  answer: Promise<{ item: HistoryItem; isOld: boolean }>
  childID: string
  deadline: Deadline
}

/**
 * Waits for the answer. What is aborted, or takes too long, is answered soon: with what it had done until then. Whoever has
 * aborted the parent does not wait for ever: the call is given up.
 */
async function endOf(step: Step, { answer, childID, deadline }: Ending): Promise<{ item: HistoryItem }> {
  const { run } = step
  const stopped = Promise.withResolvers<never>()
  stopped.promise.catch(() => {})
  const stop = () => {
    const { reason } = run.signal
    // Whoever closes leaves the child to be gone on with, and whoever lost the parent leaves it to the one who has it.
    if (!(reason instanceof Aborted)) stopped.reject(reason)
    else
      abortTree(run.coordinator, childID, "The session that gave the task was aborted.").catch(stopped.reject)
  }
  if (run.signal.aborted) stop()
  else run.signal.addEventListener("abort", stop, { once: true })
  try {
    const first = await Promise.race([answer, stopped.promise, deadline.passed])
    if (first !== "late") return first
    await abortTree(run.coordinator, childID, `The time for the task is up: ${deadline.limitText}.`)
    return await Promise.race([answer, stopped.promise])
  } finally {
    run.signal.removeEventListener("abort", stop)
  }
}

/** An answer that is none becomes an error that says so, with what the agent said until then. */
function doneOrThrow(
  { message, parts }: HistoryItem,
  { delegation, childID, summary }: { delegation: Delegation; childID: string; summary: TaskCall[] },
): TaskDone {
  const text = parts.findLast((part) => part.type === "text" && !part.ignored && part.text.trim() !== "")
  const said = shortened(text?.type === "text" ? text.text : "")
  if (message.role !== "assistant") throw new Error("The agent gave no answer.")
  const why = failureOf(message)
  if (why === undefined)
    return { sessionID: childID, text: said || "(The agent ended without a text.)", summary }
  // A result has the calls in it; an error has what was shown last.
  delegation.report({ summary })
  throw new Error(taskOutput(said === "" ? why : `${why}\nIts last words:\n${said}`, childID))
}

/** So that what comes after it is not cut off with its end. */
function shortened(text: string): string {
  const lines = text.split("\n", answerLinesMax + 1)
  if (text.length <= answerUnitsMax && lines.length <= answerLinesMax) return text
  const head = cutText(lines.slice(0, answerLinesMax).join("\n"), answerUnitsMax)
  return `${head}\n\n(The answer was cut here. The whole of it is in the session below: use recall to read it.)`
}

function failureOf(message: Extract<HistoryItem["message"], { role: "assistant" }>): string | undefined {
  const { error, finish } = message
  if (finish === "rejected") return "The agent was stopped: a person said no to what it wanted to do."
  if (error?.name === "MessageAbortedError") return `The agent was aborted: ${error.data.message}`
  if (error?.name === "InterruptedError") return `The agent was cut off too often: ${error.data.message}`
  // What was said until a limit was reached is an answer.
  if (error && error.name !== "MessageOutputLengthError") return `The agent failed: ${error.data.message}`
  return undefined
}

function tooDeep(depth: number): Error {
  const levels = depth === 1 ? "one level" : `${depth} levels`
  return new Error(`Agents may give tasks ${levels} deep (task.depth). Do this one yourself.`)
}

function busy(sessionID: string): Error {
  return new Error(
    `Session ${sessionID} is busy with another task. Wait for its result, or leave out session_id to start a new one.`,
  )
}
