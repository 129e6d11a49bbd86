import {
  type AssistantBody,
  createID,
  type IDKind,
  type NewSession,
  noTokens,
  type PartBody,
  type UserBody,
} from "../../src/protocol/index.ts"
import { seededRandom } from "./random.ts"

export interface Ids {
  next(kind: IDKind): string
}

/** Ids from a seed: processes that write to one file need different ones. */
export function makeIds(seed: number): Ids {
  const random = seededRandom(seed)
  return { next: (kind) => createID(kind, Date.now(), random) }
}

const model = { providerID: "bench", modelID: "bench-large-1" }

export function newSession(ids: Ids, fields: Partial<NewSession> = {}): NewSession {
  const now = Date.now()
  return {
    id: ids.next("session"),
    projectID: "bench",
    directory: "/home/user/bench",
    title: "A session of the benchmark",
    version: "0.1.0",
    time: { created: now, updated: now },
    ...fields,
  }
}

export function userMessage(ids: Ids): UserBody {
  return { id: ids.next("message"), role: "user", time: { created: Date.now() }, agent: "build", model }
}

export function assistantMessage(ids: Ids, parentID: string): AssistantBody {
  return {
    id: ids.next("message"),
    role: "assistant",
    time: { created: Date.now() },
    parentID,
    ...model,
    agent: "build",
    path: { cwd: "/home/user/bench", root: "/home/user/bench" },
    cost: 0,
    tokens: noTokens(),
  }
}

/** The last fields of an answer, as a run sets them when it seals. */
export function finished(message: AssistantBody): AssistantBody {
  return {
    ...message,
    time: { ...message.time, completed: message.time.created + 1840 },
    finish: "stop",
    cost: 0.01375,
    tokens: { input: 5210, output: 412, reasoning: 0, cache: { read: 4800, write: 0 } },
  }
}

export function textPart(ids: Ids, text: string): PartBody {
  return { id: ids.next("part"), type: "text", text }
}
