import type { z } from "zod"
import type { Method, Route } from "../../protocol/routes/index.ts"
import { version } from "../../protocol/version.ts"
import { namedSchemas } from "./named-schemas.ts"
import type { Answer, OpenApiDocument, PathItem } from "./openapi.ts"
import { errorStatuses, operationOf } from "./operation.ts"
import { SchemaBook } from "./schema-book.ts"
import type { DocumentedTable } from "./tables.ts"

const statusTexts: Record<number, string> = {
  400: "The request is not valid",
  401: "The token is missing or wrong",
  403: "Not allowed: the Host, the Origin or a rule forbids the request",
  404: "Not found",
  408: "The body did not arrive in time",
  409: "The request conflicts with the current state",
  413: "The body is too large",
  415: "The body is not JSON",
  500: "The server failed with an internal error",
  501: "This server does not support the request",
  503: "Not available now: the server is closing, or a service that it needs does not answer",
}

interface DocumentedRoute {
  table: DocumentedTable
  group: string
  name: string
  route: Route
}

/** The OpenAPI document of some route tables. The same tables always give the same document. */
export function createDocument(tables: readonly DocumentedTable[]): OpenApiDocument {
  const named: Record<string, z.ZodType> = { ...namedSchemas }
  for (const { schemas, error } of tables) Object.assign(named, schemas, { [error.name]: error.schema })
  const book = new SchemaBook(named)
  const documentedRoutes = tables.flatMap(documentedRoutesOf)
  const paths: Record<string, PathItem> = {}
  for (const documented of documentedRoutes)
    addOperation(paths, { path: documented.route.path, documented, book })
  for (const documented of documentedRoutes) {
    for (const path of documented.table.aliases?.(documented.route.path) ?? [])
      addAlias(paths, { path, documented })
  }
  const responses = responsesOf(tables, book)
  return {
    openapi: "3.1.0",
    info: {
      title: "Stemma",
      version,
      summary: "The session system for AI agents",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The server that serves this document" }],
    security: [{ bearer: [] }, { basic: [] }],
    tags: tables.flatMap((table) =>
      Object.keys(table.routes).map((group) => ({
        name: tagOf(table, group),
        description: table.about[group] ?? group,
      })),
    ),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "The server's token" },
        basic: {
          type: "http",
          scheme: "basic",
          description: "The server's token as password, with any name",
        },
      },
      responses,
      schemas: book.components(),
    },
  }
}

function documentedRoutesOf(table: DocumentedTable): DocumentedRoute[] {
  return Object.entries(table.routes).flatMap(([group, routes]) =>
    Object.entries(routes).map(([name, route]) => ({ table, group, name, route })),
  )
}

function tagOf({ prefix }: DocumentedTable, group: string): string {
  return prefix === "" ? group : `${prefix} ${group}`
}

function addOperation(
  paths: Record<string, PathItem>,
  { path, documented, book }: { path: string; documented: DocumentedRoute; book: SchemaBook },
): void {
  const { table, group, name, route } = documented
  const item = paths[templateOf(path)] ?? {}
  paths[templateOf(path)] = item
  const method = methodOf(route)
  if (item[method]) throw new Error(`${route.method} ${path} is in two tables`)
  item[method] = operationOf(route, {
    book,
    context: {
      operationId: [table.prefix, group, name].filter((one) => one !== "").join("."),
      tag: tagOf(table, group),
      error: table.error.name,
      frame: table.frame,
    },
  })
}

/**
 * Adds a further path of a route to the route's operation, unless another table has that path. A path of its own would
 * repeat the operation id, and generators of clients would make a second function.
 */
function addAlias(
  paths: Record<string, PathItem>,
  { path, documented }: { path: string; documented: DocumentedRoute },
): void {
  const template = templateOf(path)
  const method = methodOf(documented.route)
  const taken = Object.keys(paths).find((one) => shapeOf(one) === shapeOf(template))
  if (taken === undefined) {
    const operation = paths[templateOf(documented.route.path)]![method]!
    operation["x-aliases"] = [...(operation["x-aliases"] ?? []), template]
  } else if (!paths[taken]![method]) {
    throw new Error(
      `${documented.route.method} ${path} is an alias at a path of another table, which lacks this method. Choose another path.`,
    )
  }
}

/** The names of parameters do not matter when paths are compared. */
function shapeOf(template: string): string {
  return template.replace(/\{\w+\}/g, "{}")
}

function methodOf({ method }: Route): Lowercase<Method> {
  return method.toLowerCase() as Lowercase<Method>
}

function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}")
}

function responsesOf(tables: readonly DocumentedTable[], book: SchemaBook): Record<string, Answer> {
  const responses: Record<string, Answer> = {}
  for (const { error, routes } of tables) {
    const all = Object.values(routes).flatMap((group) => Object.values(group))
    const statuses = new Set(all.flatMap(errorStatuses))
    for (const status of [...statuses].sort((a, b) => a - b)) {
      responses[`${error.name}${status}`] = {
        description: statusTexts[status] ?? String(status),
        content: { "application/json": { schema: book.output(error.schema) } },
      }
    }
  }
  return responses
}
