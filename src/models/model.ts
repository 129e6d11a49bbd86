import type { JsonObject, ModelRef, Price, Tokens } from "../protocol/index.ts"
import type { ContextMessage } from "../session/index.ts"

/** A model that can be asked. Everything about providers is behind this. */
export interface Model {
  readonly ref: ModelRef
  /** In tokens; 0 where nobody knows. */
  readonly limit: { context: number; output: number }
  /** Absent where nobody knows: then no cost is claimed. */
  readonly price?: Price
  /**
   * Asks once. Yields events as they come and ends after `finish`, which is always the last one.
   *
   * Throws a ModelError, and nothing else, for whatever goes wrong, before or after events were given: the caller then
   * drops what this call gave and may ask again. Once `signal` is aborted it throws a ModelError of kind `aborted` soon,
   * and holds on to nothing. Retries nothing itself.
   */
  stream(request: ModelRequest): ModelStream
}

export interface ModelRequest {
  /** What the call is for; a scripted model answers only steps from its list. */
  purpose: "step" | "title" | "summary" | "compaction"
  /** Texts of the system prompt, in order; none is empty. The first ones change least, for the provider's cache. */
  system: readonly string[]
  /** Arrays and messages that were given before are the same objects, never changed: what is derived may be kept. */
  messages: readonly ContextMessage[]
  tools: readonly ModelTool[]
  /** Absent is `auto`. */
  toolChoice?: "auto" | "none" | "required"
  maxOutputTokens?: number
  temperature?: number
  topP?: number
  /** Reasoning effort, where the model has such a thing: `low`, `medium`, `high`, or what its provider calls it. */
  variant?: string
  /** Options of the provider, by its name, as its package documents them. */
  options?: JsonObject
  /** Bytes of a `blob:` or `file:` url in the messages. */
  readFile: (url: string) => Promise<Uint8Array>
  signal: AbortSignal
  /** Without any event for so long, the call fails as `stalled`. */
  idleTimeoutMs: number
}

export interface ModelStream extends AsyncIterable<ModelEvent> {
  /** Gives every event to `take`, at less cost than a loop; a promise that it gives back is waited for. */
  each?(take: (event: ModelEvent) => Promise<void> | undefined): Promise<void>
}

export interface ModelTool {
  name: string
  description: string
  /** JSON Schema, draft 7. The same object each time as long as it is the same. */
  inputSchema: JsonObject
}

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other"

/** Every `delta` and `end` follows a `start` of the same id. `metadata` is the provider's and goes back to it. */
export type ModelEvent =
  | { type: "text-start"; id: string; metadata?: JsonObject }
  | { type: "text-delta"; id: string; text: string }
  | { type: "text-end"; id: string; metadata?: JsonObject }
  | { type: "reasoning-start"; id: string; metadata?: JsonObject }
  | { type: "reasoning-delta"; id: string; text: string }
  | { type: "reasoning-end"; id: string; metadata?: JsonObject }
  /** The model begins to write a call; `id` is the call's id. */
  | { type: "tool-input-start"; id: string; tool: string }
  | { type: "tool-input-delta"; id: string; text: string }
  | { type: "tool-input-end"; id: string }
  /** A whole call. `input` is the text that the model wrote: it may be anything but JSON. May come without the three above. */
  | { type: "tool-call"; id: string; tool: string; input: string; metadata?: JsonObject }
  /** A file that the model made. */
  | { type: "file"; mime: string; bytes: Uint8Array }
  | { type: "finish"; reason: FinishReason; usage?: Tokens; metadata?: JsonObject }
