import type { IncomingHttpHeaders } from "node:http"
import type { Tokens } from "../../../src/protocol/index.ts"

export interface AnswerCall {
  tool: string
  /** A string is sent as it is: it may be anything but JSON. */
  input: object | string
  id?: string
}

/** A model's answer: reasoning, then text, then calls, whatever of them is given. */
export interface PlainAnswer {
  /** An array is the deltas; a string is cut into words, or into pieces of `chunk` characters. */
  text?: string | string[]
  reasoning?: string | string[]
  calls?: AnswerCall[]
  /** Disjoint counts, as in a step: the wire's sums are made from them. What is missing is made up. */
  usage?: Partial<Tokens>
  /** `stop`, `length`, `content-filter` and `tool-calls` in the protocol's own words; anything else as it is. */
  finish?: string
  /** Between two deltas. */
  tokenDelayMs?: number
  /** Between the headers and the first delta. */
  firstDelayMs?: number
  /** Characters of a delta, of a call's input too. */
  chunk?: number
}

/**
 * `reset-before`: the connection breaks instead of an answer. `reset-after`: it breaks after some deltas. `truncated`: the
 * stream ends well but without a finish. `malformed`: broken JSON between good events. `stall`: some deltas, then silence
 * for ever. `slow`: a delta now and then. `empty`: a finish and nothing else. `unknown-finish`: a reason nobody knows.
 * `context-length`: refused with the provider's own words. `error-event`: an error inside the stream.
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
  /** An object is sent as JSON; without one the body is what the provider would say. */
  body?: object | string
}

export interface StreamFault extends PlainAnswer {
  fault: FaultName
  /** How many deltas come before it happens; 2 unless told. */
  afterDeltas?: number
  /** Of a stall: not even the headers come. */
  beforeHeaders?: boolean
}

export type Answer = PlainAnswer | StatusFault | StreamFault

export type ProtocolName = "openai" | "anthropic"

/** One request as it came. `body` is parsed when it is first looked at. */
export interface ServedRequest {
  protocol: ProtocolName
  path: string
  headers: IncomingHttpHeaders
  readonly body: RequestBody
  bytes: Buffer
  at: number
  /** The client left before the answer was over. */
  aborted: boolean
}

/** The fields that tests look at, of both protocols; the rest is there too. */
export interface RequestBody {
  model: string
  stream?: boolean
  messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[]
  system?: unknown
  tools?: Record<string, unknown>[]
  [key: string]: unknown
}

export type AnswerSource = Answer | ((request: ServedRequest) => Answer | Promise<Answer>)
