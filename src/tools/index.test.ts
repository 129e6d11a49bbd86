import { expect, test } from "vitest"
import { z } from "zod"
import { builtInTools } from "./index.ts"

test.each(builtInTools().map((tool) => [tool.name, tool] as const))(
  "%s has a schema and descriptions for a model",
  (_, tool) => {
    const schema = z.toJSONSchema(tool.input) as {
      type?: string
      properties?: Record<string, { description?: string }>
    }
    expect(schema.type).toBe("object")
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      expect(property.description, `${name} is described`).toMatch(/\S/)
    }
    expect(tool.description).toMatch(/\S/)
  },
)

test("each tool has a unique name, and recovery never repeats a tool that changes files", () => {
  const tools = builtInTools()
  expect(new Set(tools.map((tool) => tool.name)).size).toBe(tools.length)
  expect(tools.filter((tool) => tool.writes !== false && tool.replay !== "never")).toEqual([])
})
