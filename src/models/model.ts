import type { JsonObject, ModelRef, Price, Tokens } from "../protocol/index.ts"
import type { ContextMessage } from "../session/index.ts"

/** A model that the run can call. Code outside of `models/` knows nothing of providers but this interface. */
export interface Model {
  readonly ref: ModelRef
  /** In tokens; 0 if unknown. */
  readonly limit: { context: number; output: number }
  /** Absent if unknown: the session then counts no cost for this model. */
  readonly price?: Price
  /**
   * Calls the model once. Yields events as they arrive and ends after `finish`, which is always the last event.
   *
   * Throws a ModelError, and nothing else, for every failure, before or after the first event. The caller then drops
   * the events of this call and may call again: the model itself never retries. Soon after `signal` is aborted the
   * stream throws a ModelError of kind `aborted` and releases its connection, timers and listeners.
   */
  stream(request: ModelRequest): ModelStream
}

export interface ModelRequest {
  /** What the call is for. A scripted model takes answers from its list for steps only. */
  purpose: "step" | "title" | "summary" | "compaction"
  /**
   * Texts of the system prompt, in order, none of them empty. The texts that change least come first, for the
   * provider's cache.
   */
  system: readonly string[]
  /**
   * A message that an earlier request included is the same object, and is never changed: derived values may be cached.
   */
  messages: readonly ContextMessage[]
  tools: readonly ModelTool[]
  /** `auto` if absent. */
  toolChoice?: "auto" | "none" | "required"
  maxOutputTokens?: number
  temperature?: number
  topP?: number
  /** Reasoning effort, if the model has one: `low`, `medium`, `high`, or the provider's own name for an effort. */
  variant?: string
  /** Provider options, by the provider's name, as its package documents them. */
  options?: JsonObject
  /** Reads the bytes of a `blob:` or `file:` URL in the messages. */
  readFile: (url: string) => Promise<Uint8Array>
  signal: AbortSignal
  /** The call fails as `stalled` after this long without an event. */
  idleTimeoutMs: number
}

export interface ModelStream extends AsyncIterable<ModelEvent> {
  /**
   * Passes every event to `take`, with fewer promises than a `for await` loop. Awaits a promise that `take` returns.
   */
  each?(take: (event: ModelEvent) => Promise<void> | undefined): Promise<void>
}

export interface ModelTool {
  name: string
  description: string
  /** JSON Schema, draft 7. The same object in every request until the schema changes. */
  inputSchema: JsonObject
}

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other"

/**
 * Every `delta` and `end` follows a `start` of the same id. `metadata` comes from the provider and is sent back to it.
 */
export type ModelEvent =
  | { type: "text-start"; id: string; metadata?: JsonObject }
  | { type: "text-delta"; id: string; text: string }
  | { type: "text-end"; id: string; metadata?: JsonObject }
  | { type: "reasoning-start"; id: string; metadata?: JsonObject }
  | { type: "reasoning-delta"; id: string; text: string }
  | { type: "reasoning-end"; id: string; metadata?: JsonObject }
  /** The model begins to write a tool call; `id` is the call's id. */
  | { type: "tool-input-start"; id: string; tool: string }
  | { type: "tool-input-delta"; id: string; text: string }
  | { type: "tool-input-end"; id: string }
  /**
   * A complete call. `input` is the text that the model wrote, which may not be valid JSON. May come without the three
   * events above.
   */
  | { type: "tool-call"; id: string; tool: string; input: string; metadata?: JsonObject }
  /** A file that the model generated. */
  | { type: "file"; mime: string; bytes: Uint8Array }
  | { type: "finish"; reason: FinishReason; usage?: Tokens; metadata?: JsonObject }
