import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { z } from "zod"
import { builtInTools } from "../../src/tools/index.ts"
import { bashTool } from "../../src/tools/shell/bash.ts"
import { createSkillTool } from "../../src/tools/skill.ts"
import type { Tool } from "../../src/tools/tool.ts"

interface Schema {
  type?: string
  enum?: string[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
}

const made = [...builtInTools(), bashTool, createSkillTool(() => [])] as unknown[] as Tool[]
const tools = [...new Map(made.map((tool) => [tool.name, tool])).values()]
const page = readFileSync("docs/tools.md", "utf8")
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf("\n")), section] as const),
)

/** Name and type of each input as the page writes them, in the order of the schema. */
function inputsOf({ properties = {}, required = [] }: Schema, above = ""): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const type = required.includes(name) ? typeOf(schema) : `${typeOf(schema)}, optional`
    const below = schema.type === "array" && schema.items ? inputsOf(schema.items, `${above}${name}.`) : []
    return [`\`${above}${name}\` | ${type}`, ...below]
  })
}

function typeOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(", ")
  if (schema.type === "array") return `${typeOf(schema.items ?? {})} list`
  return schema.type === "integer" ? "number" : (schema.type ?? "anything")
}

test("docs/tools.md has a section for each built-in tool and for no other", () => {
  expect([...sections.keys()].toSorted()).toEqual(tools.map(({ name }) => name).toSorted())
})

test.each(tools.map((tool) => [tool.name, tool] as const))(
  "docs/tools.md has the inputs and the recovery of %s",
  (name, tool) => {
    const section = sections.get(name) ?? ""
    const rows = [...section.matchAll(/^\| (`[\w.]+` \| [^|]+?) \|/gm)].map((match) => match[1]!)
    expect(rows).toEqual(inputsOf(z.toJSONSchema(tool.input, { io: "input" }) as Schema))
    expect(section).toContain(`Replay: \`${tool.replay}\``)
    expect(section).toContain("Permission: ")
  },
)
