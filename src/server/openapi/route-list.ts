import type { OpenApiDocument, Operation, PathItem } from "./openapi.ts"

export interface ListedRoute {
  method: string
  path: string
  operation: Operation
  aliases: string[]
}

/** The routes of a group, in the order of their table. */
export function routesOfTag({ paths }: OpenApiDocument, tag: string): ListedRoute[] {
  const routes: ListedRoute[] = []
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of operationsOf(item)) {
      if (operation.tags.includes(tag))
        routes.push({ method: method.toUpperCase(), path, operation, aliases: operation["x-aliases"] ?? [] })
    }
  }
  return routes
}

function operationsOf(item: PathItem): [method: string, operation: Operation][] {
  return Object.entries(item) as [string, Operation][]
}

/** The routes as Markdown, with a table for each group. */
export function routeList(document: OpenApiDocument): string {
  const lines: string[] = []
  for (const { name, description } of document.tags) {
    lines.push("", `### ${name}`, "", `${description}.`, "", "| call | description |", "|---|---|")
    for (const { method, path, operation, aliases } of routesOfTag(document, name)) {
      const also = aliases.length > 0 ? ` Also at \`${aliases.join("`, `")}\`.` : ""
      const open = operation.security ? " Needs no token." : ""
      lines.push(`| \`${method} ${path}\` | ${operation.summary.replaceAll("|", "\\|")}${also}${open} |`)
    }
  }
  return `${lines.join("\n")}\n\n`
}
