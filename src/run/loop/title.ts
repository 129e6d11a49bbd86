import type { Model, ModelRequest } from "../../models/model.ts"
import { ModelError } from "../../models/model-error.ts"
import { StemmaError, type UserBody } from "../../protocol/index.ts"
import { costOf, titleFromText, visibleLine, visibleText } from "../../session/index.ts"
import type { ModelCallTelemetry } from "../telemetry/call-telemetry.ts"
import type { TraceContext } from "../telemetry/tracing.ts"
import type { Run } from "./run.ts"

const titleUnitsMax = 100
const titleTimeoutMs = 30_000

/**
 * Asks the title agent for a better title than the first words of the first prompt. No run waits for the result. A
 * title that a caller set meanwhile stays.
 */
export async function writeTitle(
  run: Run,
  options: { user: UserBody; text: string; signal: AbortSignal; parent: TraceContext | undefined },
): Promise<void> {
  const { user, text } = options
  const setup = await run.setup()
  const agent = setup.loaded.agents.get("title")
  if (!agent) return
  const promptModel = `${user.model.providerID}/${user.model.modelID}`
  const model = await setup.models.get(agent.model ?? setup.loaded.config.small_model ?? promptModel)
  const request: ModelRequest = {
    purpose: "title",
    system: agent.prompt === undefined ? [] : [agent.prompt],
    messages: [{ role: "user", content: [{ type: "text", text: text.slice(0, 4000) }] }],
    tools: [],
    maxOutputTokens: 100,
    readFile: async () => new Uint8Array(),
    signal: AbortSignal.any([options.signal, AbortSignal.timeout(titleTimeoutMs)]),
    idleTimeoutMs: titleTimeoutMs,
  }
  const call = run.telemetry.modelCall({
    agent: agent.name,
    model,
    request,
    mask: setup.mask,
    outside: { parent: options.parent },
  })
  let answer = ""
  try {
    answer = await call.within(() => readTitle(run, { model, request, call }))
  } catch (error) {
    call.fail(error)
    throw error
  } finally {
    call.end()
  }
  const title = titleFromAnswer(setup.mask(answer))
  if (title !== "") await replaceTitle(run, titleFromText(text), title)
}

async function readTitle(
  run: Run,
  { model, request, call }: { model: Model; request: ModelRequest; call: ModelCallTelemetry },
): Promise<string> {
  let answer = ""
  for await (const event of model.stream(request)) {
    if (event.type === "text-delta") answer += event.text
    if (event.type === "finish" && event.usage) {
      const tokens = event.usage
      const cost = model.price ? costOf(tokens, model.price) : 0
      call.done({ tokens, cost, finish: event.reason })
      await run.engine.store.commit({
        ops: [{ op: "session.patch", sessionID: run.sessionID, add: { cost, tokens } }],
      })
    }
  }
  return answer
}

/** Replaces the title only if it is still `known`, the title taken from the prompt. */
async function replaceTitle(run: Run, known: string, title: string): Promise<void> {
  const { store } = run.engine
  for (let attempt = 0; attempt < 5; attempt++) {
    const session = await store.session(run.sessionID)
    if (session.title !== known) return
    try {
      await store.commit({
        ops: [{ op: "session.patch", sessionID: session.id, set: { title } }],
        expectSeq: { [session.id]: session.seq },
      })
      return
    } catch (error) {
      if (!StemmaError.is(error, "conflict")) throw error
    }
  }
}

function titleFromAnswer(text: string): string {
  const lines = visibleText(text).split("\n").map(visibleLine)
  const title = (lines.find((line) => line !== "") ?? "").replace(/^["'`#\s]+|["'`\s]+$/g, "")
  return [...title].length > titleUnitsMax ? `${[...title].slice(0, titleUnitsMax - 1).join("")}…` : title
}

/** True for errors of the model or the store: a session without a better title is not a failure. */
export function isExpectedTitleError(error: unknown): boolean {
  return error instanceof ModelError || StemmaError.is(error)
}
