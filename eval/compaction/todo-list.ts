import type { JsonObject } from "../../src/protocol/index.ts"
import type { Listed } from "./phrasings/phrasing.ts"
import type { ClosedTodo, NewPart } from "./session.ts"
import { toolPart } from "./tool-part.ts"

type Status = "pending" | "in_progress" | "completed" | "cancelled"

interface Entry {
  id: string
  content: string
  status: Status
  /** A short-lived entry as noise: the evaluation does not look for it. */
  isPassing: boolean
}

/** The todo list of a session. Each write contains the whole list, as with real agents. */
export class TodoList {
  #entries: Entry[] = []
  #count = 0

  add(content: string, { status, isPassing = false }: { status: Status; isPassing?: boolean }): void {
    this.#entries.push({ id: String(++this.#count), content, status, isPassing })
  }

  /** Closes the passing entries that are still open. */
  closePassing(status: "completed" | "cancelled"): void {
    for (const entry of this.#entries) if (entry.isPassing && isOpen(entry)) entry.status = status
  }

  /** The tool call that writes the list, and the entries that it shows as closed for the first time. */
  write(tool: Listed["tool"], at: number): { part: NewPart; closed: ClosedTodo[] } {
    const entries = this.#entries
    const closed = entries.filter((entry) => !isOpen(entry)).map(({ content }) => ({ content, at }))
    this.#entries = entries.filter(isOpen)
    return { part: toolPart(callOf(tool, entries)), closed }
  }
}

function isOpen({ status }: Entry): boolean {
  return status === "pending" || status === "in_progress"
}

function callOf(tool: Listed["tool"], entries: readonly Entry[]) {
  if (tool === "update_plan") {
    const plan = entries.map(({ content, status }) => ({ step: content, status }))
    return { tool, input: { plan }, output: "Plan updated" }
  }
  if (tool === "TodoWrite") {
    const todos = entries.map(({ content, status }) => ({ content, status, activeForm: content }))
    return { tool, input: { todos }, output: "Todos have been modified successfully." }
  }
  const todos: JsonObject[] = entries.map(({ id, content, status }) => ({
    id,
    content,
    status,
    priority: "medium",
  }))
  if (tool === "todo_write")
    return { tool, input: { merge: false, todos }, output: "Successfully updated the list" }
  const output = JSON.stringify(todos, null, 2)
  return { tool, input: { todos }, output, title: `${todos.length} todos`, metadata: { todos } }
}
