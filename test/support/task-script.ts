import type { ModelRequest, ScriptedAnswer, SessionHandle } from "../../src/index.ts"
import { partsOf, type RunScene, until } from "./run-scene.ts"

type Answer = ScriptedAnswer | ((request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer>)

/** A script that chooses its answers by the last prompt: the answers to each prompt, step by step. */
export function answersTo(prompts: Record<string, readonly Answer[]>) {
  return async (request: ModelRequest): Promise<ScriptedAnswer> => {
    const said = lastPrompt(request)
    const answers = prompts[said]
    if (!answers) throw new Error(`Nobody expected the prompt ${said}.`)
    const from = request.messages.findLastIndex(({ role }) => role === "user")
    const step = request.messages.slice(from).filter(({ role }) => role === "assistant").length
    const answer = answers[step]
    if (!answer) throw new Error(`The prompt ${said} has no answer for step ${step + 1}.`)
    return typeof answer === "function" ? answer(request) : answer
  }
}

/** The first text of the last prompt. The texts after it are its references. */
function lastPrompt({ messages }: ModelRequest): string {
  const last = messages.findLast(({ role }) => role === "user")
  const text = last?.content.find(({ type }) => type === "text")
  return text?.type === "text" ? text.text : ""
}

/** The requests for the given prompt, in order. */
export function requestsFor({ model }: RunScene, prompt: string): ModelRequest[] {
  return model.requests.filter((request) => lastPrompt(request) === prompt)
}

/** Everything that the model was sent, as one text. */
export function shownIn(requests: readonly ModelRequest[]): string {
  return JSON.stringify(requests.map(({ system, messages, tools }) => ({ system, messages, tools })))
}

export interface TaskFields {
  agent?: string
  description?: string
  session_id?: string
  command?: string
}

/** A call of the task tool. */
export function task(prompt: string, { agent = "general", ...rest }: TaskFields = {}) {
  return { tool: "task", input: { description: prompt, prompt, subagent_type: agent, ...rest } }
}

/** The result of each call, in order. */
export async function results(session: SessionHandle): Promise<string[]> {
  return partsOf(await session.messages(), "tool").map(({ state }) =>
    state.status === "completed" ? state.output : state.status === "error" ? state.error : state.status,
  )
}

/** The metadata of the task parts about their children, in order. */
export async function taskMetadata(session: SessionHandle) {
  return partsOf(await session.messages(), "tool")
    .filter(({ tool }) => tool === "task")
    .map(({ state }) => ("metadata" in state ? state.metadata : undefined))
}

/** The child sessions of the task calls, in the order of the calls. */
export async function childrenOf({ stemma }: RunScene, session: SessionHandle): Promise<SessionHandle[]> {
  const named = (await taskMetadata(session)).map((metadata) => metadata?.sessionId)
  const ids = new Set(named.filter((id) => typeof id === "string"))
  return Promise.all([...ids].map((id) => stemma.sessions.get(id)))
}

/** The only child, as soon as its model got a request. */
export async function workingChild(
  scene: RunScene,
  session: SessionHandle,
  prompt: string,
): Promise<SessionHandle> {
  await until("the child works", () => requestsFor(scene, prompt).length > 0)
  const [child] = await childrenOf(scene, session)
  return child!
}
