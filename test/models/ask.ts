import type { Model, ModelEvent, ModelRequest } from "../../src/models/model.ts"
import { ModelError } from "../../src/models/model-error.ts"
import type { ProviderConfig } from "../../src/models/provider/providers.ts"
import { createModels } from "../../src/models/registry.ts"
import type { ContextMessage } from "../../src/session/index.ts"

export const key = "sk-test-0123456789abcdef"

export function userText(text: string): ContextMessage {
  return { role: "user", content: [{ type: "text", text }] }
}

export function request(over: Partial<ModelRequest> = {}): ModelRequest {
  return {
    purpose: "step",
    system: ["You are a test."],
    messages: [userText("hello")],
    tools: [],
    readFile: () => Promise.reject(new Error("nothing to read")),
    signal: new AbortController().signal,
    idleTimeoutMs: 30_000,
    ...over,
  }
}

export async function events(model: Model, over: Partial<ModelRequest> = {}): Promise<ModelEvent[]> {
  const all: ModelEvent[] = []
  for await (const event of model.stream(request(over))) all.push(event)
  return all
}

/** The events before the call failed, and the error. */
export async function failure(
  model: Model,
  over: Partial<ModelRequest> = {},
): Promise<{ events: ModelEvent[]; error: ModelError }> {
  const all: ModelEvent[] = []
  try {
    for await (const event of model.stream(request(over))) all.push(event)
  } catch (error) {
    if (error instanceof ModelError) return { events: all, error }
    throw new Error("The model threw something else than a ModelError.", { cause: error })
  }
  throw new Error("The call was expected to fail, and did not.")
}

/** A model of a provider at the given address, with a key. */
export function modelAt(
  baseURL: string,
  npm: string,
  { options, models, id = "m1" }: ProviderConfig & { id?: string } = {},
): Promise<Model> {
  const provider = { npm, options: { baseURL, apiKey: key, ...options }, models: models ?? {} }
  return createModels({ env: {}, provider: { "test-provider": provider } }).get(`test-provider/${id}`)
}

export function textOf(all: ModelEvent[]): string {
  return all.map((event) => (event.type === "text-delta" ? event.text : "")).join("")
}

export function types(all: ModelEvent[]): string[] {
  return all.map((event) => event.type).filter((type, index, list) => type !== list[index - 1])
}
