import { z } from "zod"
import { showTodos } from "./todowrite.ts"
import type { Tool } from "./tool.ts"

const TodoreadInput = z.object({})

export const todoreadTool: Tool<z.infer<typeof TodoreadInput>> = {
  name: "todoread",
  description: "Reads the session's todo list.",
  input: TodoreadInput,
  replay: "safe",
  writes: false,
  wants: async () => [{ permission: "todoread", patterns: ["*"], always: ["*"] }],
  execute: async (_input, context) => showTodos(await context.todos.read()),
}
