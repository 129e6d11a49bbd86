import {
  type AssistantBody,
  createID,
  type NewSession,
  noTokens,
  type PartBody,
  type UserBody,
  version,
} from "../src/index.ts"

/** Messages for the examples. In a real program the run writes them from the model's answers. */
const model = { providerID: "example", modelID: "none" }

export function newSession(title: string): NewSession {
  const now = Date.now()
  return {
    id: createID("session", now),
    projectID: "examples",
    directory: process.cwd(),
    title,
    version,
    time: { created: now, updated: now },
  }
}

export function segment(): string {
  return createID("segment", Date.now())
}

export function user(): UserBody {
  const now = Date.now()
  return { id: createID("message", now), role: "user", time: { created: now }, agent: "build", model }
}

export function assistant(parent: UserBody): AssistantBody {
  const now = Date.now()
  return {
    id: createID("message", now),
    role: "assistant",
    time: { created: now },
    parentID: parent.id,
    ...model,
    agent: "build",
    path: { cwd: process.cwd(), root: process.cwd() },
    cost: 0,
    tokens: noTokens(),
  }
}

export function text(content: string): PartBody {
  return { id: createID("part", Date.now()), type: "text", text: content }
}

/** A tool call with its result. */
export function toolCall(tool: string, input: Record<string, unknown>, output: string): PartBody {
  const now = Date.now()
  const id = createID("part", now)
  const time = { start: now, end: now }
  return {
    id,
    type: "tool",
    callID: `call_${id}`,
    tool,
    state: { status: "completed", input, output, title: tool, metadata: {}, time },
  }
}
