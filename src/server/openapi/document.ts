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
  403: "Not allowed: a foreign Host or Origin, or what a rule forbids",
  404: "There is no such thing",
  408: "The body did not arrive in time",
  409: "It does not go with what is there",
  413: "The body is too large",
  415: "The body is not JSON",
  500: "Something went wrong in the server",
  501: "This server cannot do that",
  503: "Not now: the server is closing, or what it needs does not answer",
}

interface Place {
  table: DocumentedTable
  group: string
  name: string
  route: Route
}

/** The OpenAPI document of some tables of routes. The same tables always give the same document. */
export function createDocument(tables: readonly DocumentedTable[]): OpenApiDocument {
  const named: Record<string, z.ZodType> = { ...namedSchemas }
  for (const { schemas, error } of tables) Object.assign(named, schemas, { [error.name]: error.schema })
  const book = new SchemaBook(named)
  const places = tables.flatMap(placesOf)
  const paths: Record<string, PathItem> = {}
  for (const location of places) addOperation(paths, { path: location.route.path, location, book })
  for (const location of places) {
    for (const path of location.table.aliases?.(location.route.path) ?? [])
      addAlias(paths, { path, location })
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

function placesOf(table: DocumentedTable): Place[] {
  return Object.entries(table.routes).flatMap(([group, routes]) =>
    Object.entries(routes).map(([name, route]) => ({ table, group, name, route })),
  )
}

function tagOf({ prefix }: DocumentedTable, group: string): string {
  return prefix === "" ? group : `${prefix} ${group}`
}

function addOperation(
  paths: Record<string, PathItem>,
  { path, location, book }: { path: string; location: Place; book: SchemaBook },
): void {
  const { table, group, name, route } = location
  const item = paths[templateOf(path)] ?? {}
  paths[templateOf(path)] = item
  const method = methodOf(route)
  if (item[method]) throw new Error(`${route.method} ${path} is in two tables`)
  item[method] = operationOf(route, {
    book,
    place: {
      operationId: [table.prefix, group, name].filter((one) => one !== "").join("."),
      tag: tagOf(table, group),
      error: table.error.name,
      frame: table.frame,
    },
  })
}

/** A further path of a route. Where another table has that path too, it is that table's. */
function addAlias(
  paths: Record<string, PathItem>,
  { path, location }: { path: string; location: Place },
): void {
  const template = templateOf(path)
  const taken = Object.keys(paths).find((one) => one !== template && shapeOf(one) === shapeOf(template))
  if (taken === undefined) paths[template] = { $ref: `#/paths/${pointer(templateOf(location.route.path))}` }
  else if (!paths[taken]![methodOf(location.route)]) {
    throw new Error(
      `${location.route.method} ${path} is another name at a path of another table: give it a name of its own`,
    )
  }
}

/** Two paths are the same whatever their parameters are called. */
function shapeOf(template: string): string {
  return template.replace(/\{\w+\}/g, "{}")
}

function methodOf({ method }: Route): Lowercase<Method> {
  return method.toLowerCase() as Lowercase<Method>
}

function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}")
}

function pointer(path: string): string {
  return path.replaceAll("~", "~0").replaceAll("/", "~1")
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
