import type { z } from "zod"
import { StemmaError } from "../protocol/index.ts"
import { pathNames, type Route, type RouteAnswer, type RouteInput } from "../protocol/routes/index.ts"
import { throwIfError } from "./answer-error.ts"
import type { Connection } from "./connection.ts"

export interface CallOptions {
  /** Gives the call up; what the server does for it goes on. */
  signal?: AbortSignal
}

type ParamsOf<R extends Route> = R["params"] extends z.ZodType ? z.input<R["params"]> : Record<never, never>

type Plain<T> = { [K in keyof T]: T[K] }

/** What a call takes, in one object: parameters of the path that are not bound, query and body. */
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

/** A route as a function. */
export type RouteCall<R extends Route, Bound extends string = never> = keyof CallInput<R, Bound> extends never
  ? (options?: CallOptions) => Promise<CallAnswer<R>>
  : Record<never, never> extends CallInput<R, Bound>
    ? (input?: CallInput<R, Bound>, options?: CallOptions) => Promise<CallAnswer<R>>
    : (input: CallInput<R, Bound>, options?: CallOptions) => Promise<CallAnswer<R>>

/** A group of routes as functions. Streams are no calls. */
export type RouteCalls<T extends Record<string, Route>, Bound extends string = never> = {
  readonly [K in keyof T as T[K] extends { kind: "events" } ? never : K]: RouteCall<T[K], Bound>
}

interface CallsOptions<Bound extends string> {
  bound?: { [K in Bound]: string }
  silenceMs?: number
}

/**
 * The functions of a group. `bound` are the parameters that are the same for all of them; with `silenceMs` a call is given up
 * when nothing is heard for so long, which is only for routes that answer without waiting for anything.
 */
export function routeCalls<T extends Record<string, Route>, Bound extends string = never>(
  connection: Connection,
  group: T,
  { bound = {} as { [K in Bound]: string }, silenceMs }: CallsOptions<Bound> = {},
): RouteCalls<T, Bound> {
  const calls: Record<string, (first?: object, second?: CallOptions) => Promise<unknown>> = {}
  for (const [name, route] of Object.entries<Route>(group)) {
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

function freeNames(route: Route, bound: object): string[] {
  return pathNames(route.path).filter((name) => !(name in bound))
}

async function callRoute(
  connection: Connection,
  route: Route,
  options: { input: Record<string, unknown>; silenceMs: number | undefined } & CallOptions,
): Promise<unknown> {
  const { input, signal, silenceMs } = options
  const { path, query, body } = sort(route, withDirectory(route, input, connection.directory))
  const response = await connection.send({ method: route.method, path, query, body, signal, silenceMs })
  try {
    return await readAnswer(response, route)
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (StemmaError.is(error)) throw error
    throw new StemmaError(
      "unavailable",
      "The answer was cut off, or is none of Stemma's. Look at the session to see what became of the call.",
      { cause: error },
    )
  }
}

async function readAnswer(response: Response, { kind = "json" }: Route): Promise<unknown> {
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

interface Sorted {
  path: string
  query: Record<string, string>
  body: Record<string, unknown> | undefined
}

/** Where each name of the input goes is what the route's schemas say. */
function sort(route: Route, input: Record<string, unknown>): Sorted {
  const names = pathNames(route.path)
  const query: Record<string, string> = {}
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || names.includes(name)) continue
    if (has(route.query, name)) query[name] = queryText(value)
    else if (route.body) body[name] = value
    else throw new StemmaError("invalid", `${route.method} ${route.path} takes no \`${name}\`.`)
  }
  const isLeftOut = route.body === undefined || (route.isBodyOptional && Object.keys(body).length === 0)
  return { path: fill(route.path, input), query, body: isLeftOut ? undefined : body }
}

function fill(path: string, input: Record<string, unknown>): string {
  return path.replace(/:(\w+)/g, (_, name: string) => {
    const value = input[name]
    // These would be another path.
    if (typeof value === "string" && !/^\.{0,2}$/.test(value)) return encodeURIComponent(value)
    throw new StemmaError("invalid", `\`${name}\` is no id: ${JSON.stringify(value)}.`)
  })
}

/** A query is text: lists have commas between their members, and what is null is `none`. */
function queryText(value: unknown): string {
  return Array.isArray(value) ? value.join(",") : String(value ?? "none")
}

function withDirectory(
  route: Route,
  input: Record<string, unknown>,
  directory: string | undefined,
): Record<string, unknown> {
  if (directory === undefined || "directory" in input) return input
  return has(route.query, "directory") || has(route.body, "directory") ? { ...input, directory } : input
}

function has(schema: z.ZodType | undefined, name: string): boolean {
  if (schema === undefined || !("shape" in schema)) return false
  return Object.hasOwn(schema.shape as object, name)
}
