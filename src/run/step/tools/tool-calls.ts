import { Buffer } from "node:buffer"
import { createHash } from "node:crypto"
import { type Attachment, type JsonObject, parseOrInvalid, ToolState } from "../../../protocol/index.ts"
import { cleanText } from "../../../session/index.ts"
import { limitOutput, pointerNotice } from "../../../tools/output.ts"
import type { Tool, ToolResult, Wanted } from "../../../tools/tool.ts"
import { Aborted, Closing } from "../../loop/run.ts"
import { PermissionRefused } from "../../permission/approvals.ts"
import type { PermissionCheck } from "../../permission/permission-check.ts"
import type { ToolCallTelemetry } from "../../telemetry/call-telemetry.ts"
import { errorText } from "../error-text.ts"
import type { Step } from "../step-plan.ts"
import { withGrace } from "./abort-grace.ts"
import { callContext, displayable } from "./call-context.ts"
import { callInput } from "./call-input.ts"
import { mayUse } from "./toolbox.ts"

/** A tool call as the model wrote it. */
export interface Call {
  partID: string
  callID: string
  tool: string
  /** The input as text. If it is not JSON, the model gets an error. */
  text: string
}

/**
 * Runs the calls of a step at the same time and settles each exactly once. `endsRun`: the turn must end after this
 * step.
 */
export async function runToolCalls(step: Step, calls: readonly Call[]): Promise<{ endsRun: boolean }> {
  const outcomes = await settleWithLimit(callsAtOnce, calls, (call, index) =>
    withTelemetry(step, call, (telemetry) =>
      index < callsMax ? runCall(step, { call, telemetry }) : refuseCall(step, { call, telemetry }),
    ),
  )
  const failed = outcomes.find((outcome) => outcome.status === "rejected")
  if (failed) throw failed.reason
  for (const call of calls) step.run.calls.push(settledCall(step, call))
  return { endsRun: outcomes.some((outcome) => outcome.status === "fulfilled" && outcome.value.endsRun) }
}

/** Limits the processes that a broken model can start. No useful answer has as many calls. */
const callsMax = 256
const callsAtOnce = 32

async function withTelemetry(
  step: Step,
  { partID, callID, tool }: Call,
  work: (telemetry: ToolCallTelemetry) => Promise<{ endsRun: boolean }>,
): Promise<{ endsRun: boolean }> {
  const { run, openMessage, setup } = step
  const isKnown = step.tools.has(tool)
  const telemetry = run.telemetry.toolCall({ partID, callID, tool, isKnown, mask: setup.mask })
  try {
    return await telemetry.within(() => work(telemetry))
  } catch (error) {
    telemetry.fail({ error })
    throw error
  } finally {
    telemetry.end(openMessage.tool(partID).state)
  }
}

interface TrackedCall {
  call: Call
  telemetry: ToolCallTelemetry
}

async function refuseCall(step: Step, { call, telemetry }: TrackedCall): Promise<{ endsRun: boolean }> {
  const { run, openMessage } = step
  telemetry.fail({ type: "invalid_input" })
  const now = run.engine.clock.now()
  const error = `The tool was not run: only the first ${callsMax} calls of a step are. Make fewer calls at once.`
  const state: ToolState = { status: "error", input: {}, error, time: { start: now, end: now } }
  await run.writer.commit([openMessage.toolOp(call.partID, state)])
  return { endsRun: false }
}

async function settleWithLimit<T, R>(
  max: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = []
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const index = next++
      const [result] = await Promise.allSettled([work(items[index]!, index)])
      results[index] = result!
    }
  }
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, worker))
  return results
}

function settledCall(step: Step, call: Call) {
  const { state, tool } = step.openMessage.tool(call.partID)
  const result = state.status === "completed" ? state.output : state.status === "error" ? state.error : ""
  return { tool, input: briefly(JSON.stringify(state.input)), result: briefly(result) }
}

const briefUnits = 1000

/**
 * The text, or the start and the hash of a long one: texts of settled calls are compared and shown, and kept until the
 * run ends. The start is copied, because a slice keeps the whole text in memory.
 */
function briefly(text: string): string {
  if (text.length <= briefUnits) return text
  const start = Buffer.from(text.slice(0, briefUnits)).toString()
  return `${start}… (sha256 ${createHash("sha256").update(text).digest("hex")})`
}

async function runCall(step: Step, { call, telemetry }: TrackedCall): Promise<{ endsRun: boolean }> {
  const { run, openMessage } = step
  const startedAt = run.engine.clock.now()
  const fail = async (message: string, input: JsonObject, metadata?: JsonObject) => {
    const end = Math.max(startedAt, run.engine.clock.now())
    const error = limitOutput(cleanText(step.setup.mask(message))).output
    const state: ToolState = {
      status: "error",
      input,
      error,
      ...(metadata && { metadata }),
      time: { start: startedAt, end },
    }
    await run.writer.commit([...openMessage.flushOps(), openMessage.toolOp(call.partID, state)])
  }
  const parsed = callInput(step.tools, call)
  if (!parsed.ok) {
    telemetry.fail({ type: "invalid_input" })
    await fail(parsed.error, parsed.input)
    return { endsRun: false }
  }
  const progress = earlierProgress(openMessage.tool(call.partID).state)
  try {
    const result = await execute(step, {
      call,
      tool: parsed.tool,
      value: parsed.value,
      input: parsed.input,
      progress,
      startedAt,
    })
    await settle(step, { call, input: parsed.input, result, progress, startedAt })
    return { endsRun: false }
  } catch (error) {
    if (run.writer.signal.aborted) throw run.writer.signal.reason
    // The call stays unsettled: the process that continues this step continues the task.
    if (run.isClosing && parsed.tool.delegates) throw error
    telemetry.fail({ error: run.signal.aborted ? run.signal.reason : error })
    const isRefused = error instanceof PermissionRefused
    const metadata = isRefused ? { ...progress.metadata, refused: true } : progress.metadata
    await fail(failureText(error, run.signal), parsed.input, metadata)
    return { endsRun: isRefused && error.endsRun }
  }
}

export interface Progress {
  title?: string
  metadata?: JsonObject
}

/** The progress of an interrupted call, from which it continues. */
function earlierProgress(state: ToolState): Progress {
  if (state.status !== "running") return {}
  const { title, metadata } = state
  return { ...(title !== undefined && { title }), ...(metadata && { metadata }) }
}

export interface Execution {
  call: Call
  tool: Tool
  value: unknown
  input: JsonObject
  progress: Progress
  startedAt: number
}

async function execute(step: Step, execution: Execution): Promise<ToolResult> {
  const { run, openMessage } = step
  const { call, tool, value } = execution
  const signal = run.signal
  signal.throwIfAborted()
  const asker = { name: tool.name, messageID: openMessage.message.id, callID: call.callID }
  // The rules may have changed while the model was answering: a call obeys the rules as they are now.
  const permissionCheck = await step.judge()
  if (!mayUse(tool.name, permissionCheck))
    throw new PermissionRefused(`Not allowed: the tool ${tool.name} is switched off.`)
  const isUnattended = step.user.unattended
  const ask = (wanted: Wanted, known?: PermissionCheck) =>
    run.approvals.ask({
      wanted,
      judge: step.judge,
      tool: asker,
      signal,
      isUnattended,
      ...(known && { known }),
    })
  const shared = {
    agent: step.agent.name,
    decide: (wanted: Wanted) => permissionCheck.decide(wanted, tool.name).action,
    sessionID: run.sessionID,
    workspace: run.project.workspace,
    signal,
    reads: run.reads,
  }
  const { toolGraceMs } = run.engine.timing
  const wantedPermissions = await withGrace((async () => tool.wants(value, shared))(), signal, toolGraceMs)
  for (const [index, wanted] of wantedPermissions.entries())
    await ask(wanted, index === 0 ? permissionCheck : undefined)
  if (await withGrace(mayWrite(tool, value), signal, toolGraceMs)) await step.snapshotBefore()
  signal.throwIfAborted()
  const { context, end, running } = callContext(step, { ...execution, shared, ask: (wanted) => ask(wanted) })
  await run.writer.commit([...openMessage.flushOps(), openMessage.putOp(running())])
  const startedMs = performance.now()
  try {
    return await withGrace((async () => tool.execute(value, context))(), signal, toolGraceMs)
  } finally {
    run.engine.metrics.toolRan(tool.name, performance.now() - startedMs)
    end()
  }
}

async function mayWrite(tool: Tool, value: unknown): Promise<boolean> {
  return typeof tool.writes === "function" ? tool.writes(value) : tool.writes
}

async function settle(
  step: Step,
  done: { call: Call; input: JsonObject; result: ToolResult; progress: Progress; startedAt: number },
): Promise<void> {
  const { run, openMessage } = step
  const { result, progress } = done
  if (typeof result !== "object" || result === null || typeof result.output !== "string") {
    throw new Error("The tool is broken: its result has no `output` string.")
  }
  if (result.attachments !== undefined && !Array.isArray(result.attachments)) {
    throw new Error("The tool is broken: the `attachments` of its result are not an array.")
  }
  const whole = cleanText(step.setup.mask(result.output))
  const limited = limitOutput(whole)
  const hash = limited.cut ? await run.engine.store.blobs.put(Buffer.from(whole)) : undefined
  const attachments = await Promise.all(
    (result.attachments ?? []).map((attachment) => storeAttachment(step, attachment)),
  )
  const completed = {
    status: "completed",
    input: done.input,
    output:
      hash === undefined
        ? limited.output
        : `${limited.output}\n\n${pointerNotice({ hash, lines: limited.lines, bytes: limited.bytes })}`,
    ...(hash !== undefined && { outputBlob: `blob:${hash}` }),
    title: displayable(step, result.title),
    metadata: result.metadata ? displayable(step, result.metadata) : (progress.metadata ?? {}),
    time: { start: done.startedAt, end: Math.max(done.startedAt, run.engine.clock.now()) },
    ...(attachments.length > 0 && { attachments }),
  }
  const state = parseOrInvalid(ToolState, completed, "The result of the tool")
  await run.writer.commit([...openMessage.flushOps(), openMessage.toolOp(done.call.partID, state)])
}

/** Stores the bytes of a `data:` URL as a blob, so that no row holds them. */
async function storeAttachment(step: Step, attachment: Attachment): Promise<Attachment> {
  const match = /^data:[^,]*;base64,(.*)$/s.exec(attachment.url)
  if (!match) return attachment
  const hash = await step.run.engine.store.blobs.put(Buffer.from(match[1]!, "base64"))
  return { ...attachment, url: `blob:${hash}` }
}

function failureText(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) {
    const reason: unknown = signal.reason
    if (reason instanceof Closing) return `interrupted: ${reason.message}`
    if (reason instanceof Aborted) return `aborted: ${reason.message}`
  }
  return errorText(error)
}
