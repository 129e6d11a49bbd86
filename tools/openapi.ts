import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { createDocument } from "../src/server/openapi/document.ts"
import { routeList } from "../src/server/openapi/route-list.ts"
import { documentedTables } from "../src/server/openapi/tables.ts"

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
const documentPath = "schema/openapi.json"
const pagePath = "docs/http.md"
const list = /(?<=<!-- routes -->\n)[\s\S]*?(?=<!-- \/routes -->)/

/** The generated documents that do not match the route tables. */
export function staleDocuments(): string[] {
  const document = createDocument(documentedTables)
  const kept = JSON.parse(readFileSync(at(documentPath), "utf8")) as unknown
  const page = readFileSync(at(pagePath), "utf8")
  const stale: string[] = []
  if (JSON.stringify(kept) !== JSON.stringify(document)) stale.push(documentPath)
  if (page !== page.replace(list, () => routeList(document))) stale.push(pagePath)
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
