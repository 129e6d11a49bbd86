import type { z } from "zod"
import { StemmaError } from "../protocol/error/error.ts"
import type { AnswerKind, Method, Route, RouteAnswer, RouteInput } from "../protocol/routes/index.ts"
import { pathNames } from "../protocol/routes/path-names.ts"
import { throwIfError } from "./answer-error.ts"
import type { Connection } from "./connection.ts"

/** What a call needs of a route. The schemas stay in the server, because zod is larger than the client. */
export interface ClientRoute {
  method: Method
  path: string
  kind?: AnswerKind
  /** The names of the query's parameters. */
  query?: readonly string[]
  body?: "required" | "optional"
  /** True if the query or the body has a `directory`. */
  takesDirectory?: boolean
}

export interface CallOptions {
  /** Stops waiting for the answer. The server still finishes the work. */
  signal?: AbortSignal
}

type ParamsOf<R extends Route> = R["params"] extends z.ZodType ? z.input<R["params"]> : Record<never, never>

type Plain<T> = { [K in keyof T]: T[K] }

/** The input of a call in one object: path parameters that are not bound, query and body. */
export type CallInput<R extends Route, Bound extends string = never> = Plain<
  Omit<ParamsOf<R>, Bound> & RouteInput<R>
>

export type CallAnswer<R extends Route> = R["kind"] extends "text"
  ? string
  : R["kind"] extends "bytes"
    ? Uint8Array
    : R["kind"] extends "none"
      ? undefined
      : RouteAnswer<R>

export type RouteCall<R extends Route, Bound extends string = never> = keyof CallInput<R, Bound> extends never
  ? (options?: CallOptions) => Promise<CallAnswer<R>>
  : Record<never, never> extends CallInput<R, Bound>
    ? (input?: CallInput<R, Bound>, options?: CallOptions) => Promise<CallAnswer<R>>
    : (input: CallInput<R, Bound>, options?: CallOptions) => Promise<CallAnswer<R>>

/** A group of routes as functions, without the routes that are event streams. */
export type RouteCalls<T extends Record<string, Route>, Bound extends string = never> = {
  readonly [K in keyof T as T[K] extends { kind: "events" } ? never : K]: RouteCall<T[K], Bound>
}

interface CallsOptions<Bound extends string> {
  bound?: { [K in Bound]: string }
  silenceMs?: number
}

/**
 * The functions of a group of routes. `bound` sets path parameters for all of them. With `silenceMs`, a call fails when
 * no byte arrives for that long: only for routes that answer without waiting for a model or a person.
 */
export function routeCalls<T extends Record<string, Route>, Bound extends string = never>(
  connection: Connection,
  group: Record<keyof T, ClientRoute>,
  { bound = {} as { [K in Bound]: string }, silenceMs }: CallsOptions<Bound> = {},
): RouteCalls<T, Bound> {
  const calls: Record<string, (first?: object, second?: CallOptions) => Promise<unknown>> = {}
  for (const [name, route] of Object.entries<ClientRoute>(group)) {
    if (route.kind === "events") continue
    const takesInput =
      route.query !== undefined || route.body !== undefined || freeNames(route, bound).length > 0
    calls[name] = (first, second) =>
      takesInput
        ? callRoute(connection, route, { ...second, input: { ...first, ...bound }, silenceMs })
        : callRoute(connection, route, { ...(first as CallOptions), input: bound, silenceMs })
  }
  return calls as RouteCalls<T, Bound>
}

function freeNames(route: ClientRoute, bound: object): string[] {
  return pathNames(route.path).filter((name) => !(name in bound))
}

async function callRoute(
  connection: Connection,
  route: ClientRoute,
  options: { input: Record<string, unknown>; silenceMs: number | undefined } & CallOptions,
): Promise<unknown> {
  const { input, signal, silenceMs } = options
  const { path, query, body } = splitInput(route, withDirectory(route, input, connection.directory))
  const response = await connection.send({ method: route.method, path, query, body, signal, silenceMs })
  try {
    return await readAnswer(response, route)
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (StemmaError.is(error)) throw error
    throw new StemmaError(
      "unavailable",
      "The answer is incomplete or does not come from Stemma. Read the session to see whether the call took effect.",
      { cause: error },
    )
  }
}

async function readAnswer(response: Response, { kind = "json" }: ClientRoute): Promise<unknown> {
  switch (kind) {
    case "none":
      await response.body?.cancel()
      return undefined
    case "text":
      return response.text()
    case "bytes":
      return new Uint8Array(await response.arrayBuffer())
    case "json":
      return response.json()
    case "slow": {
      const body: unknown = await response.json()
      throwIfError(body)
      return body
    }
    case "events":
      return response
    default:
      return kind satisfies never
  }
}

interface RequestParts {
  path: string
  query: Record<string, string>
  body: Record<string, unknown> | undefined
}

/** The route decides whether a name of the input belongs to the path, the query or the body. */
function splitInput(route: ClientRoute, input: Record<string, unknown>): RequestParts {
  const names = pathNames(route.path)
  const query: Record<string, string> = {}
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || names.includes(name)) continue
    if (route.query?.includes(name)) query[name] = queryText(value)
    else if (route.body) body[name] = value
    else throw new StemmaError("invalid", `${route.method} ${route.path} has no parameter \`${name}\`.`)
  }
  const isLeftOut = route.body === undefined || (route.body === "optional" && Object.keys(body).length === 0)
  return { path: fillPath(route.path, input), query, body: isLeftOut ? undefined : body }
}

function fillPath(path: string, input: Record<string, unknown>): string {
  return path.replace(/:(\w+)/g, (_, name: string) => {
    const value = input[name]
    // An empty value, "." or ".." would change the path.
    if (typeof value === "string" && !/^\.{0,2}$/.test(value)) return encodeURIComponent(value)
    throw new StemmaError("invalid", `\`${name}\` is not an id: ${JSON.stringify(value)}.`)
  })
}

/** The text form of a query value: list members are joined by commas, and null becomes `none`. */
function queryText(value: unknown): string {
  return Array.isArray(value) ? value.join(",") : String(value ?? "none")
}

function withDirectory(
  route: ClientRoute,
  input: Record<string, unknown>,
  directory: string | undefined,
): Record<string, unknown> {
  if (directory === undefined || "directory" in input) return input
  return route.takesDirectory ? { ...input, directory } : input
}
