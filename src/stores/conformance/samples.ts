import {
  type AssistantBody,
  type Clock,
  createID,
  type IDKind,
  type InboxItem,
  type NewSession,
  noTokens,
  type PartBody,
  type PermissionRequest,
  type ToolState,
  type UserBody,
} from "../../protocol/index.ts"

/** A clock that moves only when a test advances it. */
export class ManualClock implements Clock {
  #nowMs = Date.UTC(2026, 0, 1)
  #elapsedMs = 0

  now(): number {
    return this.#nowMs
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  advance(ms: number): void {
    this.#nowMs += ms
    this.#elapsedMs += ms
  }

  /** Sets the clock, as a person does: the time of day changes, but no time passes. */
  setBack(ms: number): void {
    this.#nowMs -= ms
  }
}

/** Returns a generator of numbers in [0, 1) that depend on the seed only. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Creates ids and sample data. The same seed gives the same ids. */
export class Samples {
  readonly #random: () => number
  readonly #clock: Clock

  constructor(seed: number, clock: Clock) {
    this.#random = randomFrom(seed)
    this.#clock = clock
  }

  id(kind: IDKind): string {
    return createID(kind, this.#clock.now(), this.#random)
  }

  session(fields: Partial<NewSession> = {}): NewSession {
    const now = this.#clock.now()
    return {
      id: this.id("session"),
      projectID: "project",
      directory: "/work",
      title: "A session",
      version: "1.0.0",
      time: { created: now, updated: now },
      ...fields,
    }
  }

  user(fields: Partial<UserBody> = {}): UserBody {
    return {
      id: this.id("message"),
      role: "user",
      time: { created: this.#clock.now() },
      agent: "build",
      model: { providerID: "scripted", modelID: "one" },
      ...fields,
    }
  }

  assistant(fields: Partial<AssistantBody> = {}): AssistantBody {
    return {
      id: this.id("message"),
      role: "assistant",
      time: { created: this.#clock.now() },
      parentID: this.id("message"),
      modelID: "one",
      providerID: "scripted",
      agent: "build",
      path: { cwd: "/work", root: "/work" },
      cost: 0,
      tokens: noTokens(),
      ...fields,
    }
  }

  text(text: string): PartBody & { type: "text" } {
    return { id: this.id("part"), type: "text", text }
  }

  reasoning(text: string): PartBody & { type: "reasoning" } {
    return { id: this.id("part"), type: "reasoning", text, time: { start: 1 } }
  }

  tool(state: ToolState): PartBody & { type: "tool" } {
    return { id: this.id("part"), type: "tool", callID: "call_1", tool: "bash", state }
  }

  file(url: string, filename?: string): PartBody & { type: "file" } {
    return { id: this.id("part"), type: "file", mime: "text/plain", url, ...(filename ? { filename } : {}) }
  }

  prompt(sessionID: string, text = "hello"): InboxItem & { type: "prompt" } {
    const message = this.user()
    return {
      id: message.id,
      sessionID,
      time: this.#clock.now(),
      type: "prompt",
      delivery: "steer",
      message,
      parts: [this.text(text)],
    }
  }

  permission(sessionID: string, fields: Partial<PermissionRequest> = {}): PermissionRequest {
    return {
      id: this.id("permission"),
      sessionID,
      permission: "edit",
      patterns: ["src/*"],
      always: [],
      metadata: {},
      time: { created: this.#clock.now() },
      ...fields,
    }
  }
}

export const pending = { status: "pending", input: {}, raw: "" } satisfies ToolState
export const running = {
  status: "running",
  input: { command: "ls" },
  time: { start: 1 },
} satisfies ToolState
export const completed = {
  status: "completed",
  input: { command: "ls" },
  output: "a.txt",
  title: "ls",
  metadata: {},
  time: { start: 1, end: 2 },
} satisfies ToolState
export const failed = {
  status: "error",
  input: { command: "ls" },
  error: "no such directory",
  time: { start: 1, end: 2 },
} satisfies ToolState
