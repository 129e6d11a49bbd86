import type { IncomingMessage, ServerResponse } from "node:http"
import { type Context, Hono } from "hono"
import type { z } from "zod"
import type { Route, RouteAnswer, RouteRequest } from "../../protocol/routes/index.ts"
import { readJson } from "./body.ts"
import type { Call, ServerContext } from "./call.ts"
import { type ErrorAnswer, errorAnswer, HttpError } from "./errors.ts"
import type { Guard } from "./guard.ts"
import { answerJson } from "./json-answer.ts"
import { sendSlowly } from "./slow-answer.ts"

/** The data of a network request. A call within this process has none of it. */
export interface Bindings {
  incoming?: IncomingMessage
  outgoing?: ServerResponse
  headers?: Record<string, string>
  guard?: Guard
}

export type App = Hono<{ Bindings: Bindings }>

export function createApp(): App {
  return new Hono<{ Bindings: Bindings }>({ strict: true })
}

/** The pending answer of a route that may take long. Errors that are known early were thrown before. */
export interface PendingAnswer<T> {
  answer: Promise<T>
}

type HandlerAnswer<R extends Route> = R["kind"] extends "slow"
  ? PendingAnswer<RouteAnswer<R>>
  : R["kind"] extends "events" | "bytes"
    ? Response
    : R["kind"] extends "text"
      ? string
      : R["kind"] extends "none"
        ? undefined
        : RouteAnswer<R>

export type Handler<R extends Route> = (
  request: RouteRequest<R>,
  call: Call,
) => Promise<HandlerAnswer<R>> | HandlerAnswer<R>

export type Handlers<T extends Record<string, Route>> = { [K in keyof T]: Handler<T[K]> }

export interface MountOptions {
  /** Some clients expect errors in another shape. */
  errorBody?: (answer: ErrorAnswer) => unknown
  /** The paths of a route, if they are not its own. */
  paths?: (path: string) => readonly string[]
}

/** Serves a group of routes. Each request is checked against the route's schemas before its handler is called. */
export function mount<T extends Record<string, Route>>(
  app: App,
  context: ServerContext,
  group: { routes: T; handlers: Handlers<T> } & MountOptions,
): void {
  for (const [name, route] of Object.entries<Route>(group.routes)) {
    const handler = group.handlers[name] as unknown as AnyHandler
    for (const path of group.paths?.(route.path) ?? [route.path]) {
      app.on(route.method, [path], (c) => handleRequest(c, { context, route, handler, group }))
    }
  }
}

type AnyHandler = (
  request: { params: unknown; query: unknown; body: unknown },
  call: Call,
) => Promise<unknown>

async function handleRequest(
  c: Context<{ Bindings: Bindings }>,
  {
    context,
    route,
    handler,
    group,
  }: { context: ServerContext; route: Route; handler: AnyHandler; group: MountOptions },
): Promise<Response> {
  const call = callOf(c)
  try {
    if (!route.isPublic) call.authorize()
    if (c.req.method === "HEAD" && (route.kind === "events" || route.kind === "slow")) throw noHead()
    const request = await parse(c, { context, route, call })
    return await send(await handler(request, call), { context, route, call, group })
  } catch (error) {
    return errorResponse(error, { call, context, group })
  }
}

function noHead(): HttpError {
  return new HttpError(405, "This answer is a stream, which HEAD cannot read. Use GET.", {
    headers: { allow: "GET" },
  })
}

export function callOf(c: Context<{ Bindings: Bindings }>): Call {
  return {
    request: c.req.raw,
    incoming: c.env?.incoming,
    outgoing: c.env?.outgoing,
    headers: c.env?.headers ?? {},
    authorize() {
      const { guard } = c.env ?? {}
      guard?.checkLink(c.req.raw.headers)
      guard?.checkToken(c.req.raw.headers)
    },
    sent: () => new Response(null, { headers: { "x-hono-already-sent": "true" } }),
  }
}

/** The answer to a request that failed. */
export function errorResponse(
  error: unknown,
  { call, context, group = {} }: { call: Call; context: ServerContext; group?: MountOptions },
): Response {
  const failure = errorAnswer(error)
  if (failure.status === 500) context.options.onWarning(error)
  const body = group.errorBody ? group.errorBody(failure) : failure.body
  return answerJson(call, body, {
    status: failure.status,
    headers: { ...call.headers, ...failure.headers },
  })
}

async function send(
  result: unknown,
  { context, route, call, group }: { context: ServerContext; route: Route; call: Call; group: MountOptions },
): Promise<Response> {
  const { kind = "json", status = 200 } = route
  const headers = { ...call.headers, "cache-control": "no-store" }
  switch (kind) {
    case "events":
    case "bytes":
      return result as Response
    case "slow":
      return sendSlowly(call, {
        later: result as PendingAnswer<unknown>,
        everyMs: context.options.heartbeatMs,
        errorBody: (error) => {
          const failure = errorAnswer(error)
          if (failure.status === 500) context.options.onWarning(error)
          return group.errorBody ? group.errorBody(failure) : failure.body
        },
      })
    case "none":
      return new Response(null, { status: route.status ?? 204, headers })
    case "text":
      return new Response(result as string, {
        status,
        headers: { "content-type": "text/plain; charset=utf-8", ...headers },
      })
    case "json":
      return answerJson(call, result, { status, headers })
    default:
      return kind satisfies never
  }
}

async function parse(
  c: Context<{ Bindings: Bindings }>,
  { context, route, call }: { context: ServerContext; route: Route; call: Call },
): Promise<{ params: unknown; query: unknown; body: unknown }> {
  const params = route.params ? check(route.params, c.req.param(), "path") : {}
  const query = route.query ? check(route.query, queryOf(call.request.url), "query") : {}
  return { params, query, body: route.body ? await bodyOf(route, { context, call }) : undefined }
}

async function bodyOf(
  route: Route,
  { context, call }: { context: ServerContext; call: Call },
): Promise<unknown> {
  const { bodyBytesMax: bytesMax, bodyTimeoutMs: timeoutMs } = context.options
  const value = await readJson({ raw: call.request, incoming: call.incoming }, { bytesMax, timeoutMs })
  if (value === undefined) {
    if (route.isBodyOptional) return undefined
    throw new HttpError(400, "This call needs a body. Send JSON.")
  }
  return check(route.body!, value, "body")
}

/** The last value of a repeated name counts. No prototype, so that names such as `constructor` have no meaning. */
function queryOf(url: string): Record<string, string> {
  const query: Record<string, string> = Object.create(null) as Record<string, string>
  const at = url.indexOf("?")
  if (at < 0) return query
  for (const [name, value] of new URLSearchParams(url.slice(at + 1))) query[name] = value
  return query
}

function check(schema: z.ZodType, value: unknown, where: "path" | "query" | "body"): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const at = [where, ...(issue?.path ?? [])].map(String).join(".")
  throw new HttpError(400, `${at} is not valid: ${issue?.message ?? "unknown"}`, {
    details: {
      issues: result.error.issues
        .slice(0, 10)
        .map(({ path, message }) => ({ path: [where, ...path], message })),
    },
  })
}
