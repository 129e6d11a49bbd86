import type { Agent } from "../../config/agents/agent.ts"
import type { Model } from "../../models/model.ts"
import {
  type AssistantBody,
  type HistoryItem,
  type ModelRef,
  noTokens,
  type PartBody,
  type Rule,
  StemmaError,
  type UserBody,
} from "../../protocol/index.ts"
import type { Tool, Wanted } from "../../tools/tool.ts"
import { revertOps } from "../loop/revert.ts"
import type { Run } from "../loop/run.ts"
import { summaryOps } from "../loop/summary.ts"
import { loadPermissionCheck, type PermissionCheck } from "../permission/permission-check.ts"
import type { Setup } from "../project.ts"
import { modelFor } from "../prompt/prompt.ts"
import { errorText } from "../step/error-text.ts"
import { OpenMessage } from "../step/open-message.ts"
import { finishStep, sealFailed } from "../step/step.ts"
import { listGrants, offeredAgent, type Step, snapshotOnce } from "../step/step-plan.ts"
import { withGrace } from "../step/tools/abort-grace.ts"
import { callInput } from "../step/tools/call-input.ts"
import { mayUse } from "../step/tools/toolbox.ts"
import { refuseWaiting } from "./append-message.ts"

/** The longest timeout that the bash tool allows. A person can abort the command at any time. */
const timeoutMs = 600_000
const saysWho = "The user ran this command by hand with the bash tool. What it printed is the tool's result."

export interface ShellOptions {
  /** The agent whose permission rules apply; the session's agent if absent. */
  agent?: string
  /** `provider/model`, recorded in the messages; no model is called. */
  model?: string
  /** The client's own id for the user message. A second command with the same id is a `conflict`. */
  messageID?: string
}

export interface ShellInput extends ShellOptions {
  command: string
}

interface Planned {
  setup: Setup
  agent: Agent
  tool: Tool
  /** The call's input, as the part shows it. */
  text: string
  judge: () => Promise<PermissionCheck>
}

/**
 * Runs a command that a person typed, with the bash tool. The history gets a user message that says so, and an assistant
 * message with the tool call. No permission question is asked; a command that a rule forbids is `denied` before anything is
 * written.
 */
export async function runShellCommand(run: Run, input: ShellInput): Promise<HistoryItem> {
  const planned = await plan(run, input)
  const allowed = await refuseForbidden(run, planned)
  if (input.messageID !== undefined) await refuseWaiting(run, input.messageID)
  const { step, partID } = await open(run, { ...planned, input, allowed })
  try {
    await finishStep(step, [
      { partID, callID: callIDOf(partID), tool: planned.tool.name, text: planned.text },
    ])
  } catch (error) {
    await sealFailed(run, { openMessage: step.openMessage, error, snapshot: step.snapshot() })
  }
  run.isInTurn = false
  const item = run.memo.last!
  await summarise(run)
  return item
}

/** True for the assistant message of a person's command. A model cannot continue such a message after a crash. */
export function isShellCommand({ message, parts }: Pick<HistoryItem, "message" | "parts">): boolean {
  const [first] = parts
  return message.role === "assistant" && first?.type === "tool" && first.callID === callIDOf(first.id)
}

/** A call id that no model call can have: the id of the part is random, and the model does not choose it. */
function callIDOf(partID: string): string {
  return `shell_${partID}`
}

async function plan(run: Run, input: ShellInput): Promise<Planned> {
  const setup = await run.setup()
  const agent = offeredAgent(setup, input.agent ?? run.session.agent)
  const tool = setup.tools.get("bash")
  if (!tool)
    throw new StemmaError("unsupported", "There is no bash tool in this project to run a command with.")
  const { store, projects } = run.engine
  const judge = async () => {
    const now = await run.setup()
    const permissionCheck = await loadPermissionCheck({
      store,
      projects,
      setup: now,
      session: await store.session(run.sessionID),
      agent: now.loaded.agents.get(agent.name) ?? agent,
      tools: undefined,
      grants: await listGrants(run),
    })
    return permissionCheck.withoutQuestions
  }
  return { setup, agent, tool, judge, text: JSON.stringify({ command: input.command, timeout: timeoutMs }) }
}

/** Throws `denied` for a forbidden command; otherwise returns the rules that allow it. */
async function refuseForbidden(
  run: Run,
  { setup, agent, tool, text, judge }: Planned,
): Promise<PermissionCheck> {
  const parsed = callInput(new Map([[tool.name, tool]]), { tool: tool.name, text })
  if (!parsed.ok) throw new StemmaError("invalid", parsed.error)
  const now = await judge()
  if (!mayUse(tool.name, now)) {
    throw new StemmaError(
      "denied",
      `The bash tool is switched off for the agent ${agent.name} in this session. Choose another agent, or change its rules.`,
    )
  }
  const { signal } = run
  const context = {
    agent: agent.name,
    decide: (wanted: Wanted) => now.decide(wanted, tool.name).action,
    sessionID: run.sessionID,
    workspace: run.project.workspace,
    signal,
    reads: run.reads,
  }
  const wishes = await withGrace(
    (async () => tool.wants(parsed.value, context))(),
    signal,
    run.engine.timing.toolGraceMs,
  ).catch((error: unknown) => {
    const why = setup.mask(errorText(error))
    throw new StemmaError(signal.aborted ? "unavailable" : "invalid", `The command was not run. ${why}`)
  })
  for (const wanted of wishes) {
    const { action, rule } = now.decide(wanted, tool.name)
    if (action === "deny") throw forbidden(wanted, rule)
  }
  return now
}

function forbidden({ permission, patterns, floor, metadata }: Wanted, rule: Rule): StemmaError {
  const what = `${permission} ${patterns.slice(0, 3).join(", ")}`.trim()
  const { reason } = metadata ?? {}
  const why =
    floor === "deny" && typeof reason === "string"
      ? reason
      : `The rule ${rule.permission}: ${rule.pattern} denies it. Change the rule, or run the command in a terminal.`
  return new StemmaError("denied", `Not allowed: ${what}. ${why}`)
}

/** Writes the user message and the open assistant message in one commit, and returns the step that runs the call. */
async function open(
  run: Run,
  planned: Planned & { input: ShellInput; allowed: PermissionCheck },
): Promise<{ step: Step; partID: string }> {
  const { engine, session, sessionID, newID } = run
  const { setup, agent, tool, text, input } = planned
  const now = engine.clock.now()
  const { model: wanted } = input
  const model = await modelFor(setup, {
    session,
    agentModel: agent.model,
    ...(wanted !== undefined && { model: wanted }),
  })
  const user: UserBody = {
    id: input.messageID ?? newID("message"),
    role: "user",
    time: { created: now },
    agent: agent.name,
    model,
  }
  run.startIDsAbove(user.id)
  const partID = newID("part")
  const parts: PartBody[] = [
    {
      id: partID,
      type: "tool",
      callID: callIDOf(partID),
      tool: tool.name,
      state: { status: "pending", input: {}, raw: text },
    },
  ]
  const message = answerTo(user, { run, now })
  await run.writer.attempt([
    ...(await revertOps(run)),
    {
      op: "message.append",
      sessionID,
      message: user,
      parts: [{ id: newID("part"), type: "text", text: saysWho, synthetic: true }],
      sealed: true,
    },
    { op: "message.append", sessionID, message, parts },
    { op: "session.patch", sessionID, set: { time: { updated: Math.max(now, session.time.updated) } } },
  ])
  run.promptID = user.id
  run.session = await engine.store.session(sessionID)
  await run.memo.refresh(engine.store, run.session)
  const position = run.memo.count - 1
  const opened = new OpenMessage({
    writer: run.writer,
    hub: engine.hub,
    position,
    // The finish reason if nothing fails; it is stored when the message is sealed.
    message: { ...message, finish: "stop" },
    parts,
  })
  const step: Step = {
    run,
    openMessage: opened,
    setup,
    agent,
    model: noModel(model),
    user,
    tools: new Map([[tool.name, tool]]),
    offered: [],
    isLastStep: false,
    judge: planned.judge,
    decide: (wish, name) => planned.allowed.decide(wish, name).action,
    ...snapshotOnce(run, opened),
  }
  return { step, partID }
}

function answerTo(user: UserBody, { run, now }: { run: Run; now: number }): AssistantBody {
  const { directory, root } = run.project.workspace
  return {
    id: run.newID("message"),
    role: "assistant",
    time: { created: now },
    parentID: user.id,
    ...user.model,
    agent: user.agent,
    path: { cwd: directory, root },
    cost: 0,
    tokens: noTokens(),
  }
}

/** A command that a person runs calls no model, so it works without a provider's key. */
function noModel(ref: ModelRef): Model {
  return {
    ref,
    limit: { context: 0, output: 0 },
    stream() {
      throw new Error("A command that a person runs calls no model.")
    },
  }
}

/** Stores which files the command changed. A failure is a warning: the command itself has succeeded. */
async function summarise(run: Run): Promise<void> {
  try {
    const ops = await summaryOps(run)
    if (ops.length > 0) await run.writer.commit(ops)
  } catch (error) {
    if (!run.writer.signal.aborted) run.engine.warn(error)
  }
}
