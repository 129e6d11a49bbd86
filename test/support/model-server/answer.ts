import type { IncomingHttpHeaders } from "node:http"
import type { Tokens } from "../../../src/protocol/index.ts"

export interface AnswerCall {
  tool: string
  /** A string is sent unchanged: it may be invalid JSON. */
  input: object | string
  id?: string
}

/** A model's answer: reasoning, then text, then calls, as far as they are given. */
export interface PlainAnswer {
  /** An array is a list of deltas; a string is split into words, or into pieces of `chunk` characters. */
  text?: string | string[]
  reasoning?: string | string[]
  calls?: AnswerCall[]
  /** Disjoint counts, as in a step; the sums of the protocol are made from them. Missing counts are filled in. */
  usage?: Partial<Tokens>
  /** `stop`, `length`, `content-filter` and `tool-calls` in the protocol's own words; any other value unchanged. */
  finish?: string
  /** The delay between two deltas. */
  tokenDelayMs?: number
  /** The delay between the headers and the first delta. */
  firstDelayMs?: number
  /** Characters of a delta, also of a call's input. */
  chunk?: number
}

/**
 * `reset-before`: the connection breaks instead of an answer. `reset-after`: it breaks after some deltas. `truncated`:
 * the stream ends normally but without a finish. `malformed`: broken JSON between valid events. `stall`: some deltas,
 * then silence for ever. `slow`: a long delay before each delta. `empty`: a finish and nothing else. `unknown-finish`:
 * an unknown finish reason. `context-length`: refused with the provider's own words. `error-event`: an error inside the
 * stream.
 */
export type FaultName =
  | "reset-before"
  | "reset-after"
  | "truncated"
  | "malformed"
  | "stall"
  | "slow"
  | "empty"
  | "unknown-finish"
  | "context-length"
  | "error-event"

export interface StatusFault {
  fault: "status"
  status: number
  headers?: Record<string, string>
  /** An object is sent as JSON; without one the body is the provider's usual error. */
  body?: object | string
}

export interface StreamFault extends PlainAnswer {
  fault: FaultName
  /** How many deltas are sent before the fault; 2 by default. */
  afterDeltas?: number
  /** For a stall: not even the headers are sent. */
  beforeHeaders?: boolean
}

export type Answer = PlainAnswer | StatusFault | StreamFault

export type ProtocolName = "openai" | "anthropic"

/** One request as it arrived. `body` is parsed when it is first read. */
export interface ServedRequest {
  protocol: ProtocolName
  path: string
  headers: IncomingHttpHeaders
  readonly body: RequestBody
  bytes: Buffer
  at: number
  /** The client left before the end of the answer. */
  aborted: boolean
}

/** The fields that tests read, of both protocols; the other fields are there too. */
export interface RequestBody {
  model: string
  stream?: boolean
  messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[]
  system?: unknown
  tools?: Record<string, unknown>[]
  [key: string]: unknown
}

export type AnswerSource = Answer | ((request: ServedRequest) => Answer | Promise<Answer>)
