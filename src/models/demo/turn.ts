import type { ContextMessage, ContextToolCall, ContextToolResult } from "../../session/index.ts"
import type { DemoTodo } from "./wish.ts"

/** A tool call of this turn and its result. */
export interface MadeCall {
  call: ContextToolCall
  result: ContextToolResult | undefined
}

/** The last user message and the calls that were made for it so far. */
export interface Turn {
  text: string
  /** The todo list before this turn. */
  todos: DemoTodo[]
  made: MadeCall[]
  /** The calls whose results are in the last message. */
  news: MadeCall[]
}

export function turnOf(messages: readonly ContextMessage[]): Turn {
  const at = messages.findLastIndex((message) => message.role === "user")
  const user = messages[at]
  const made = callsOf(messages.slice(at + 1))
  const last = messages.at(-1)
  const fresh = new Set(last?.role === "tool" ? last.content.map((result) => result.callID) : [])
  return {
    text: user?.role === "user" ? textOf(user.content) : "",
    todos: todosIn(callsOf(messages.slice(0, Math.max(at, 0)))),
    made,
    news: made.filter(({ call }) => fresh.has(call.callID)),
  }
}

/** The first text of the message. The texts after it are attachments, which hold no commands. */
function textOf(content: Extract<ContextMessage, { role: "user" }>["content"]): string {
  for (const part of content) {
    if (part.type !== "text") continue
    const text = part.text.replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, "").trim()
    if (text) return text
  }
  return ""
}

function callsOf(messages: readonly ContextMessage[]): MadeCall[] {
  const results = new Map<string, ContextToolResult>()
  for (const message of messages) {
    if (message.role === "tool") for (const result of message.content) results.set(result.callID, result)
  }
  const made: MadeCall[] = []
  for (const message of messages) {
    if (message.role !== "assistant") continue
    for (const part of message.content) {
      if (part.type === "tool-call") made.push({ call: part, result: results.get(part.callID) })
    }
  }
  return made
}

function todosIn(made: readonly MadeCall[]): DemoTodo[] {
  const last = made.findLast(({ call, result }) => call.tool === "todowrite" && result?.isError === false)
  const todos = last?.call.input.todos
  if (!Array.isArray(todos)) return []
  return todos.flatMap((todo: Partial<DemoTodo> | null, i) =>
    typeof todo?.content === "string"
      ? [
          {
            id: typeof todo.id === "string" ? todo.id : String(i + 1),
            content: todo.content,
            status: typeof todo.status === "string" ? todo.status : "pending",
            priority: typeof todo.priority === "string" ? todo.priority : "medium",
          },
        ]
      : [],
  )
}
