import {
  type HistoryItem,
  type Message,
  noTokens,
  type Part,
  type PartBody,
  type Session,
  type ToolState,
} from "../protocol/index.ts"

/** Builds small histories for the tests of this folder and of `run/`. Nothing else uses this file. */
export const sessionID = "ses_one"

export function session(history: Partial<Session["history"]> = {}, fields: Partial<Session> = {}): Session {
  return {
    id: sessionID,
    projectID: "project",
    directory: "/home/user/project",
    title: "A session",
    version: "0.1.0",
    cost: 0,
    tokens: noTokens(),
    time: { created: 1, updated: 1 },
    history: { segment: "seg_one", count: 0, epoch: 0, left: [], ...history },
    seq: 1,
    ...fields,
  }
}

export function user(id: string): Extract<Message, { role: "user" }> {
  const model = { providerID: "demo", modelID: "demo-1" }
  return { id, role: "user", sessionID, time: { created: 10 }, agent: "build", model }
}

export function assistant(id: string): Extract<Message, { role: "assistant" }> {
  return {
    id,
    role: "assistant",
    sessionID,
    time: { created: 20, completed: 30 },
    parentID: "msg_parent",
    modelID: "demo-1",
    providerID: "demo",
    agent: "build",
    path: { cwd: "/home/user/project", root: "/home/user/project" },
    cost: 0,
    tokens: noTokens(),
  }
}

type PartFields<T extends PartBody["type"]> = Omit<Extract<PartBody, { type: T }>, "id" | "type">

export function part<T extends PartBody["type"]>(type: T, id: string, fields: PartFields<T>): Part {
  return { type, id, sessionID, messageID: "msg_any", ...fields } as unknown as Part
}

export function text(id: string, value: string, fields: Partial<PartFields<"text">> = {}): Part {
  return part("text", id, { text: value, ...fields })
}

export function completed(output: string): ToolState {
  return {
    status: "completed",
    input: { path: "a.ts" },
    output,
    title: "",
    metadata: {},
    time: { start: 1, end: 2 },
  }
}

export const pending: ToolState = { status: "pending", input: {}, raw: '{"pa' }
export const running: ToolState = { status: "running", input: { path: "a.ts" }, time: { start: 5 } }
export const failed: ToolState = {
  status: "error",
  input: { path: "a.ts" },
  error: "no such file",
  time: { start: 1, end: 2 },
}

export function tool(id: string, state: ToolState, fields: Partial<PartFields<"tool">> = {}): Part {
  return part("tool", id, { callID: `call_${id}`, tool: "read", state, ...fields })
}

/** Sealed messages at positions 0, 1, 2, ... */
export function history(...messages: [message: Message, ...parts: Part[]][]): HistoryItem[] {
  return messages.map(([message, ...parts], position) => ({
    position,
    version: position + 1,
    sealed: true,
    message,
    parts: parts.map((each) => ({ ...each, messageID: message.id })),
  }))
}

/** One part of every kind, with every field that has content. */
export const everyPart: Part[] = [
  text("prt_text", "secret", { synthetic: true, time: { start: 1, end: 2 }, metadata: { secret: 1 } }),
  part("reasoning", "prt_reasoning", { text: "secret", time: { start: 1 }, metadata: { secret: 1 } }),
  tool(
    "prt_completed",
    {
      ...completed("secret"),
      input: { secret: 1 },
      title: "secret",
      metadata: { secret: 1 },
      outputBlob: "secret",
      attachments: [{ type: "file", mime: "text/plain", url: "data:,secret" }],
    } as ToolState,
    { metadata: { secret: 1 } },
  ),
  tool("prt_failed", {
    ...failed,
    input: { secret: 1 },
    error: "secret",
    metadata: { secret: 1 },
  } as ToolState),
  tool("prt_running", { ...running, input: { secret: 1 }, title: "secret", output: "secret" } as ToolState),
  tool("prt_pending", { status: "pending", input: { secret: 1 }, raw: "secret" }),
  part("file", "prt_file", {
    mime: "text/plain",
    url: "file:///secret",
    filename: "secret",
    source: { type: "file", path: "secret", text: { value: "secret", start: 0, end: 6 } },
  }),
  part("agent", "prt_agent", { name: "explore", source: { value: "@secret", start: 0, end: 7 } }),
  part("subtask", "prt_subtask", {
    prompt: "secret",
    description: "secret",
    agent: "explore",
    command: "secret",
    fixed: [{ start: 0, end: 6 }],
    references: "files",
  }),
  part("compaction", "prt_compaction", {
    auto: true,
    summary: "secret",
    ledger: "secret",
    facts: { facts: [{ kind: "said", text: "secret", rank: 1 }], dropped: { file: 1 } },
    tokensBefore: 5,
  }),
  part("retry", "prt_retry", {
    attempt: 1,
    error: { name: "APIError", data: { message: "secret", isRetryable: true, responseBody: "secret" } },
    time: { created: 1 },
  }),
  part("step-start", "prt_start", { snapshot: "secret", prune: { time: 1, parts: ["prt_text"] } }),
  part("step-finish", "prt_finish", { reason: "stop", snapshot: "secret", cost: 1, tokens: noTokens() }),
  part("snapshot", "prt_snapshot", { snapshot: "secret" }),
  part("patch", "prt_patch", { hash: "abc", files: ["secret"] }),
]
