import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type Route, routes } from "../src/protocol/routes/index.ts"
import { createDocument } from "../src/server/openapi/document.ts"
import { routeList } from "../src/server/openapi/route-list.ts"
import { documentedTables } from "../src/server/openapi/tables.ts"

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
const documentPath = "schema/openapi.json"
const pagePath = "docs/http.md"
const clientPath = "src/client/client-routes.ts"
const list = /(?<=<!-- routes -->\n)[\s\S]*?(?=<!-- \/routes -->)/

/** The generated documents that do not match the route tables. */
export function staleDocuments(): string[] {
  const document = createDocument(documentedTables)
  const kept = JSON.parse(readFileSync(at(documentPath), "utf8")) as unknown
  const page = readFileSync(at(pagePath), "utf8")
  const stale: string[] = []
  if (JSON.stringify(kept) !== JSON.stringify(document)) stale.push(documentPath)
  if (page !== page.replace(list, () => routeList(document))) stale.push(pagePath)
  if (withoutLayout(readFileSync(at(clientPath), "utf8")) !== withoutLayout(clientTable()))
    stale.push(clientPath)
  return stale
}

function write(): void {
  const document = createDocument(documentedTables)
  writeFileSync(at(documentPath), JSON.stringify(document))
  execFileSync(at("node_modules/.bin/biome"), ["format", "--write", at(documentPath)])
  const page = readFileSync(at(pagePath), "utf8")
  writeFileSync(
    at(pagePath),
    page.replace(list, () => routeList(document)),
  )
  writeFileSync(at(clientPath), clientTable())
  execFileSync(at("node_modules/.bin/biome"), ["format", "--write", at(clientPath)])
}

/** The client's own table of the routes: what a call needs, without the schemas. */
function clientTable(): string {
  const groups = Object.entries<Record<string, Route>>(routes).map(([name, group]) => {
    const lines = Object.entries(group).map(
      ([call, route]) => `    ${call}: ${JSON.stringify(clientRoute(route))},`,
    )
    return `  ${name}: {\n${lines.join("\n")}\n  },`
  })
  return `import type { ClientRoute } from "./route-call.ts"

/** Generated from the route table by \`node tools/openapi.ts --write\`. */
export const clientRoutes = {
${groups.join("\n")}
} satisfies Record<string, Record<string, ClientRoute>>
`
}

function clientRoute({ method, path, kind, query, body, isBodyOptional }: Route): object {
  const names = Object.keys(query?.shape ?? {})
  const bodyNames = body !== undefined && "shape" in body ? Object.keys(body.shape as object) : []
  return {
    method,
    path,
    ...(kind && { kind }),
    ...(names.length > 0 && { query: names }),
    ...(body && { body: isBodyOptional ? "optional" : "required" }),
    ...([...names, ...bodyNames].includes("directory") && { takesDirectory: true }),
  }
}

/** The formatter changes quotes, line breaks and trailing commas. */
function withoutLayout(text: string): string {
  return text.replace(/[\s"]|,(?=\s*[}\]])/g, "")
}

if (import.meta.main) {
  if (process.argv.includes("--write")) write()
  else {
    for (const path of staleDocuments()) {
      console.error(`${path} is stale. Run: node tools/openapi.ts --write`)
      process.exitCode = 1
    }
  }
}
