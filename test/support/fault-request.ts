import type { ServedRequest } from "./model-server/server.ts"

export interface SentResult {
  id: string
  text: string
  isError: boolean | undefined
}

interface Block {
  type: string
  id?: string
  tool_use_id?: string
  content?: unknown
  is_error?: boolean
}

/** The calls and the results of a request, message by message, in either protocol. */
function exchanges({ body, protocol }: ServedRequest): { calls: string[]; results: SentResult[] }[] {
  return body.messages.map((message) => {
    if (protocol === "openai") {
      const calls = ((message.tool_calls ?? []) as { id: string }[]).map(({ id }) => id)
      const isResult = message.role === "tool"
      const result = { id: message.tool_call_id ?? "", text: textOf(message.content), isError: undefined }
      return { calls, results: isResult ? [result] : [] }
    }
    const blocks = (Array.isArray(message.content) ? message.content : []) as Block[]
    return {
      calls: blocks.flatMap(({ type, id }) => (type === "tool_use" ? [id!] : [])),
      results: blocks.flatMap(({ type, tool_use_id, content, is_error }) =>
        type === "tool_result" ? [{ id: tool_use_id!, text: textOf(content), isError: is_error }] : [],
      ),
    }
  })
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content
  return ((content ?? []) as { text?: string }[]).map(({ text }) => text ?? "").join("")
}

/** The results in a request, in order. */
export function sentResults(request: ServedRequest): SentResult[] {
  return exchanges(request).flatMap(({ results }) => results)
}

/**
 * Fails unless every call is followed by exactly one result before the next message, and every result has its call.
 */
export function assertPaired(request: ServedRequest): void {
  const open = new Set<string>()
  for (const [index, { calls, results }] of exchanges(request).entries()) {
    const where = `message ${index} of ${JSON.stringify(request.body.messages)}`
    for (const { id } of results) {
      if (!open.delete(id)) throw new Error(`The result ${id} has no call, or is the second: ${where}`)
    }
    if (open.size > 0 && results.length === 0) throw new Error(`Calls ${[...open]} have no result: ${where}`)
    for (const id of calls) open.add(id)
  }
  if (open.size > 0) throw new Error(`Calls ${[...open]} have no result.`)
}
