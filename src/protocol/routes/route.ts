import type { z } from "zod"
import type { ErrorCode } from "../error/error-code.ts"

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/**
 * How the answer is sent. `json` at once; `slow` is JSON too, but what it waits for may take long: status and headers are
 * sent at once, and white space until the answer is there, so a failure is then in the body; `events` is a stream;
 * `text` and `bytes` are what they say; `none` is an empty answer.
 */
export type AnswerKind = "json" | "slow" | "events" | "text" | "bytes" | "none"

/** One way to call the server: what it takes and what it answers. */
export interface Route {
  method: Method
  /** With names of parameters as in `/sessions/:id`. */
  path: string
  /** A sentence for the document. */
  summary: string
  params?: z.ZodObject
  /** Everything in it comes as text. */
  query?: z.ZodObject
  body?: z.ZodType
  /** True if the body may be left out altogether. */
  isBodyOptional?: boolean
  answer?: z.ZodType
  kind?: AnswerKind
  /** The content types that the answer may have, where its kind does not say it. */
  media?: readonly string[]
  /** 200 if absent, 204 where there is no answer. */
  status?: number
  /** Codes of errors beyond those that any route may give. */
  errors?: readonly ErrorCode[]
  /** Needs no token. */
  isPublic?: boolean
}

export type RouteTable = Record<string, Record<string, Route>>

/** Keeps the exact types of a route. */
export function route<const R extends Route>(definition: R): R {
  return definition
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : Record<never, never>
type Given<S> = S extends z.ZodType ? z.input<S> : Record<never, never>

/** What a handler is given. */
export interface RouteRequest<R extends Route> {
  params: Parsed<R["params"]>
  query: Parsed<R["query"]>
  body: R["isBodyOptional"] extends true ? Parsed<R["body"]> | undefined : Parsed<R["body"]>
}

/**
 * What a caller gives: query and body in one object; no name is in both. Of the query it gives what the text means, such as
 * a number: the client makes it text.
 */
export type RouteInput<R extends Route> = Parsed<R["query"]> & Given<R["body"]>

export type RouteAnswer<R extends Route> = R["answer"] extends z.ZodType ? z.output<R["answer"]> : undefined

/** The names of the parameters in a path. */
export function pathNames(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!)
}
