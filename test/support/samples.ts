import {
  type AssistantBody,
  type Caller,
  type MessageBody,
  type NewSession,
  noTokens,
  type PartBody,
  type PartType,
  type UserBody,
} from "../../src/protocol/index.ts"
import type { Draw } from "./draw.ts"
import type { Ids } from "./ids.ts"

const words = [
  "alpha",
  "beta",
  "gamma quick fox",
  "配置文件",
  "会话隔离与子会话",
  "readFileSync",
  "src/app/main.ts",
  "naïve café",
  "👩‍🚀 launch",
  "100% of 3.14",
  "スキーマ移行",
  "한국어 검색",
  "line one\nline two",
  '{"json": [1, "two"]}',
  "zero\0byte",
  "lone \ud800 surrogate",
  "",
  "Alpha BETA",
]

/** Secrets of shares. Two sessions may request the same one. */
export const sampleSecrets = ["secret-".repeat(4), "geheim-".repeat(4)]

/**
 * Searches for the words above: one word, several, quoted, prefixes, two Chinese characters, and words that do not
 * occur.
 */
export const sampleQueries = [
  "alpha",
  "beta alpha",
  '"quick fox"',
  "gam*",
  "配置",
  "子会",
  "移行",
  "검색",
  "main.ts",
  "readFileSync",
  "café",
  "nowhere",
]

export const samplePartTypes: readonly PartType[] = [
  "text",
  "reasoning",
  "tool",
  "file",
  "agent",
  "subtask",
  "compaction",
  "retry",
  "step-start",
  "step-finish",
  "snapshot",
  "patch",
]

export function sampleText(draw: Draw): string {
  const first = draw.one(words)
  return draw.chance(40) ? `${first} ${draw.one(words)}` : first
}

const model = { providerID: "demo", modelID: "demo-1" }
const sampleTokens = { input: 12, output: 3, reasoning: 1, cache: { read: 5, write: 0 } }

export function sampleUser(id: string, nowMs: number): UserBody {
  return { id, role: "user", time: { created: nowMs }, agent: "build", model }
}

export function sampleAssistant(id: string, parentID: string, nowMs: number): AssistantBody {
  return {
    id,
    role: "assistant",
    time: { created: nowMs },
    parentID,
    modelID: model.modelID,
    providerID: model.providerID,
    agent: "build",
    path: { cwd: "/project", root: "/" },
    cost: 0,
    tokens: noTokens(),
  }
}

/** The last fields of a message, as a run sets them when it seals. */
export function sampleFinished(message: MessageBody, draw: Draw, nowMs: number): MessageBody {
  if (message.role === "user") return { ...message, variant: "high", references: "none", unattended: true }
  const done = { ...message, time: { ...message.time, completed: nowMs } }
  if (draw.chance(20))
    return { ...done, error: { name: "MessageAbortedError", data: { message: "stopped" } } }
  return { ...done, finish: "stop", cost: 0.003, tokens: sampleTokens }
}

const sampleCaller: Caller = {
  messageID: "msg-caller",
  agent: "build",
  tools: { bash: false, "mcp_*": true },
}

export function sampleSession(id: string, draw: Draw, nowMs: number): NewSession {
  return {
    id,
    projectID: draw.one(["one", "two"]),
    directory: draw.one(["/project", "/project/sub", "/other"]),
    title: sampleText(draw),
    version: "0.1.0",
    time: { created: nowMs, updated: nowMs },
    ...(draw.chance(30) ? { agent: draw.one(["build", "plan"]) } : {}),
    ...(draw.chance(25) ? { key: draw.one(["telegram:1", "telegram:2", "mail:Q"]) } : {}),
    ...(draw.chance(15) ? { model, maxHistory: 10, budget: 1.5 } : {}),
    ...(draw.chance(15) ? { caller: sampleCaller } : {}),
    ...(draw.chance(15)
      ? { permission: [{ permission: "edit", pattern: "*", action: "ask" as const }] }
      : {}),
  }
}

export type ToolStatus = "pending" | "running" | "completed" | "error"

export function sampleToolState(status: ToolStatus, draw: Draw, blobs: readonly string[]): ToolState {
  const input = { path: "src/app/main.ts", query: sampleText(draw) }
  switch (status) {
    case "pending":
      return { status, input: {}, raw: draw.chance(50) ? '{"path":' : "" }
    case "running":
      return { status, input, time: { start: 1 }, ...(draw.chance(50) ? { output: sampleText(draw) } : {}) }
    case "completed":
      return {
        status,
        input,
        output: sampleText(draw),
        title: "read main.ts",
        metadata: { lines: 3 },
        time: { start: 1, end: 2 },
        ...(blobs.length > 0 && draw.chance(40) ? { outputBlob: draw.one(blobs) } : {}),
        ...(blobs.length > 0 && draw.chance(40)
          ? { attachments: [{ type: "file" as const, mime: "image/png", url: `blob:${draw.one(blobs)}` }] }
          : {}),
      }
    case "error":
      return { status, input, error: sampleText(draw), time: { start: 1, end: 2 } }
  }
}
type ToolState = Extract<PartBody, { type: "tool" }>["state"]

/** A part of any kind; a tool call is settled if `settled`, as in a message that is appended sealed. */
export function samplePart(
  type: PartType,
  {
    draw,
    ids,
    blobs = [],
    settled = false,
  }: { draw: Draw; ids: Ids; blobs?: readonly string[]; settled?: boolean },
): PartBody {
  const id = ids.next("part")
  const text = sampleText(draw)
  switch (type) {
    case "text":
      return { id, type, text, ...(draw.chance(20) ? { synthetic: true, metadata: { a: [1, null] } } : {}) }
    case "reasoning":
      return { id, type, text, time: { start: 1, end: 2 } }
    case "tool": {
      const statuses: ToolStatus[] = settled
        ? ["completed", "error"]
        : ["pending", "running", "completed", "error"]
      return {
        id,
        type,
        callID: `call-${id}`,
        tool: "read",
        state: sampleToolState(draw.one(statuses), draw, blobs),
      }
    }
    case "file": {
      const url =
        blobs.length > 0 && draw.chance(60) ? `blob:${draw.one(blobs)}` : "file:///project/alpha.txt"
      return { id, type, mime: "text/plain", filename: "alpha 配置.txt", url }
    }
    case "agent":
      return { id, type, name: "explore", source: { value: "@explore", start: 0, end: 8 } }
    case "subtask":
      return { id, type, prompt: text, description: "look around", agent: "explore", model }
    case "compaction":
      return {
        id,
        type,
        auto: true,
        summary: text,
        ledger: "- src/app/main.ts",
        facts: {
          facts: [{ kind: "file", path: "src/app/main.ts", reads: 1, changes: 2, removed: true, rank: 70 }],
          dropped: { identifier: 3 },
        },
        tokensBefore: 900,
        tokensAfter: 90,
      }
    case "retry":
      return {
        id,
        type,
        attempt: 1,
        error: { name: "APIError", data: { message: "overloaded", statusCode: 529, isRetryable: true } },
        time: { created: 5 },
      }
    case "step-start":
      return { id, type, snapshot: "abc", ...(draw.chance(50) ? { prune: { time: 5, parts: [id] } } : {}) }
    case "step-finish":
      return { id, type, reason: "stop", cost: 0.001, tokens: sampleTokens }
    case "snapshot":
      return { id, type, snapshot: "def" }
    case "patch":
      return { id, type, hash: "0a1b", files: ["src/app/main.ts", "alpha.txt"] }
  }
}

/** The same parts with new ids, as the cut copy of a message has them. */
export function copyParts(parts: readonly PartBody[], ids: Ids): PartBody[] {
  return parts.map((part) => ({ ...bodyOfPart(part), id: ids.next("part") }))
}

/** A part without the fields that reading fills in. */
export function bodyOfPart(part: PartBody & { sessionID?: string; messageID?: string }): PartBody {
  const { sessionID: _session, messageID: _message, ...body } = part
  return body as PartBody
}

export function bodyOfMessage(message: MessageBody & { sessionID?: string }): MessageBody {
  const { sessionID: _session, ...body } = message
  return body as MessageBody
}
