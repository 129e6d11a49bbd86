import type { z } from "zod"
import type { ErrorCode } from "../../protocol/index.ts"
import { pathNames, type Route } from "../../protocol/routes/index.ts"
import { statusOf } from "../http/errors.ts"
import type { Answer, Media, Operation, Parameter } from "./openapi.ts"
import type { JsonSchema, SchemaBook } from "./schema-book.ts"

/** Any call can be invalid, be denied by the guard, fail, or reach a server that is closing. */
const commonErrors: readonly ErrorCode[] = ["invalid", "denied", "internal", "unavailable"]

/** The error statuses of a route. */
export function errorStatuses(route: Route): number[] {
  const statuses = new Set([...commonErrors, ...(route.errors ?? [])].map(statusOf))
  if (!route.isPublic) statuses.add(401)
  if (route.body) for (const status of [408, 413, 415]) statuses.add(status)
  return [...statuses].sort((a, b) => a - b)
}

/** What an operation needs to know besides its route. */
export interface OperationContext {
  operationId: string
  tag: string
  /** The name of the schema of its errors. */
  error: string
  /** The schema of a frame's data, if the route has none. */
  frame: z.ZodType | undefined
}

export function operationOf(
  route: Route,
  { book, context }: { book: SchemaBook; context: OperationContext },
): Operation {
  const parameters = [
    ...(route.params ? parametersOf(book.input(route.params), "path") : []),
    ...(route.query ? parametersOf(book.input(route.query), "query") : []),
  ]
  checkPath(route, parameters)
  const responses: Operation["responses"] = { [statusOfAnswer(route)]: answerOf(route, { book, context }) }
  for (const status of errorStatuses(route))
    responses[status] = { $ref: `#/components/responses/${context.error}${status}` }
  return {
    operationId: context.operationId,
    tags: [context.tag],
    summary: route.summary,
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        required: !route.isBodyOptional,
        content: { "application/json": { schema: book.input(route.body) } },
      },
    }),
    responses,
    ...(route.isPublic && { security: [] }),
  }
}

function parametersOf(schema: JsonSchema, source: "path" | "query"): Parameter[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: source,
    required: required.includes(name),
    ...(typeof description === "string" && { description }),
    schema: rest,
  }))
}

function checkPath({ path }: Route, parameters: readonly Parameter[]): void {
  const declared = parameters.filter((one) => one.in === "path").map(({ name }) => name)
  const named = pathNames(path)
  if (declared.toSorted().join() !== named.toSorted().join()) {
    throw new Error(`${path} names ${named.join(", ")}, its params are ${declared.join(", ")}`)
  }
}

function statusOfAnswer({ kind, status }: Route): number {
  return status ?? (kind === "none" ? 204 : 200)
}

function answerOf(route: Route, { book, context }: { book: SchemaBook; context: OperationContext }): Answer {
  const { kind = "json", answer } = route
  const text: JsonSchema = { type: "string" }
  const error: JsonSchema = { $ref: `#/components/schemas/${context.error}` }
  const content = (media: Media, type: string) =>
    Object.fromEntries((route.media ?? [type]).map((one) => [one, media]))
  switch (kind) {
    case "json":
      return { description: "Done", content: content({ schema: jsonOf(book, answer) }, "application/json") }
    case "slow":
      return {
        description: "The status is sent at once and the body later, so a failure is reported in the body",
        content: content({ schema: { anyOf: [jsonOf(book, answer), error] } }, "application/json"),
      }
    case "events":
      return {
        description: "Server-sent events",
        content: content(
          {
            schema: {
              ...text,
              contentMediaType: "text/event-stream",
              contentSchema: jsonOf(book, answer ?? context.frame),
            },
          },
          "text/event-stream",
        ),
      }
    case "text":
      return { description: "Text", content: content({ schema: text }, "text/plain") }
    case "bytes":
      return { description: "Bytes", content: content({ schema: {} }, "application/octet-stream") }
    case "none":
      return { description: "Done" }
    default:
      return kind satisfies never
  }
}

function jsonOf(book: SchemaBook, answer: z.ZodType | undefined): JsonSchema {
  return answer ? book.output(answer) : {}
}
