import { z } from "zod"
import { Todo } from "../protocol/index.ts"
import type { Tool, ToolResult } from "./tool.ts"

const TodowriteInput = z.object({
  todos: z
    .array(
      Todo.extend({
        id: z
          .string()
          .min(1)
          .max(64)
          .optional()
          .describe("Identifies the todo in later lists; assigned if absent"),
        content: z.string().trim().min(1).max(1_000).describe("What is to be done, in a sentence"),
      }),
    )
    .max(100)
    .describe("The whole list: it replaces the one before"),
})

export const todowriteTool: Tool<z.infer<typeof TodowriteInput>> = {
  name: "todowrite",
  description: [
    "Replaces the session's todo list, which the user sees. Use it for work of three steps or more.",
    "Give the whole list each time. Keep one todo in_progress, and mark it completed as soon as it is done.",
  ].join("\n"),
  input: TodowriteInput,
  replay: "never",
  writes: false,
  wants: async ({ todos }) => {
    withIds(todos)
    return [{ permission: "todowrite", patterns: ["*"], always: ["*"] }]
  },
  execute: async (input, context) => {
    const todos = withIds(input.todos)
    await context.todos.write(todos)
    return showTodos(todos)
  },
}

export function showTodos(todos: Todo[]): ToolResult {
  return {
    title: todos.length === 1 ? "1 todo" : `${todos.length} todos`,
    output: JSON.stringify(todos, null, 2),
    metadata: { todos },
  }
}

/** A todo without an id gets the smallest number that is not used yet. */
function withIds(todos: z.infer<typeof TodowriteInput>["todos"]): Todo[] {
  const taken = new Set<string>()
  for (const { id } of todos) {
    if (id === undefined) continue
    if (taken.has(id)) throw new Error(`Two todos have the id ${id}. Give each its own id, or none.`)
    taken.add(id)
  }
  let next = 1
  return todos.map((todo) => {
    if (todo.id !== undefined) return { ...todo, id: todo.id }
    while (taken.has(String(next))) next++
    const id = String(next++)
    return { id, content: todo.content, status: todo.status, priority: todo.priority }
  })
}
