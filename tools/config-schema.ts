import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { configJsonSchema } from "../src/config/files/schema.ts"

const path = fileURLToPath(new URL("../schema/stemma.schema.json", import.meta.url))

/** Whether the JSON Schema that is shipped says what the code does. */
export function isSchemaCurrent(): boolean {
  const kept = JSON.parse(readFileSync(path, "utf8")) as unknown
  return JSON.stringify(kept) === JSON.stringify(configJsonSchema())
}

if (import.meta.main) {
  if (process.argv.includes("--write")) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify(configJsonSchema()))
    const biome = fileURLToPath(new URL("../node_modules/.bin/biome", import.meta.url))
    execFileSync(biome, ["format", "--write", path])
  } else if (!isSchemaCurrent()) {
    console.error("schema/stemma.schema.json is stale. Run: node tools/config-schema.ts --write")
    process.exitCode = 1
  }
}
