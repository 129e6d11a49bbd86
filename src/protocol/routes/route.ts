import type { z } from "zod"
import type { ErrorCode } from "../error/error-code.ts"

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/**
 * How the answer is sent.
 * - `json`: JSON, when the handler is done.
 * - `slow`: JSON whose handler may take long. Status and headers are sent at once, then white space until the answer is
 *   ready, so an error after that is in the body.
 * - `events`: a stream of server-sent events.
 * - `text`, `bytes`: plain text, raw bytes.
 * - `none`: an empty body.
 */
export type AnswerKind = "json" | "slow" | "events" | "text" | "bytes" | "none"

/** One route of the server: its input and its answer. */
export interface Route {
  method: Method
  /** The path, with parameter names as in `/sessions/:id`. */
  path: string
  /** A sentence for the OpenAPI document. */
  summary: string
  params?: z.ZodObject
  /** Every value of a query arrives as text. */
  query?: z.ZodObject
  body?: z.ZodType
  /** True if a request may have no body. */
  isBodyOptional?: boolean
  answer?: z.ZodType
  kind?: AnswerKind
  /** The content types that the answer may have, for kinds that do not imply one. */
  media?: readonly string[]
  /** 200 if absent; 204 for the kind `none`. */
  status?: number
  /** Error codes beyond those that every route may answer. */
  errors?: readonly ErrorCode[]
  /** True if the route needs no token. */
  isPublic?: boolean
}

export type RouteTable = Record<string, Record<string, Route>>

/** Returns its argument. It exists to keep the exact types of a route. */
export function route<const R extends Route>(definition: R): R {
  return definition
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : Record<never, never>
type Given<S> = S extends z.ZodType ? z.input<S> : Record<never, never>

/** The parsed input that a handler receives. */
export interface RouteRequest<R extends Route> {
  params: Parsed<R["params"]>
  query: Parsed<R["query"]>
  body: R["isBodyOptional"] extends true ? Parsed<R["body"]> | undefined : Parsed<R["body"]>
}

/**
 * The input that a caller of the client passes: query and body in one object, because no name is in both. Query values
 * have their parsed types, such as number; the client turns them into text.
 */
export type RouteInput<R extends Route> = Parsed<R["query"]> & Given<R["body"]>

export type RouteAnswer<R extends Route> = R["answer"] extends z.ZodType ? z.output<R["answer"]> : undefined
