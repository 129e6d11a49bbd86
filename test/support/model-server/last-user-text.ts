import type { RequestBody } from "./answer.ts"

/** The end of a request: the texts of a user message, or the result of a tool. */
export type Ending = { kind: "user"; texts: string[] } | { kind: "result" }

const roleKey = Buffer.from('"role":"')
const contentKey = '"content":'

/**
 * The end of a request, found from the end of its bytes, so that a body of megabytes costs no more than a small one.
 * Every quote inside a JSON string is escaped, so text that looks like a key is a key. A body in another format is
 * parsed whole.
 */
export function endingOf(bytes: Buffer, body: () => RequestBody): Ending {
  const at = bytes.lastIndexOf(roleKey)
  const role = at < 0 ? "" : bytes.toString("latin1", at + roleKey.length, at + roleKey.length + 5)
  if (role.startsWith('tool"')) return { kind: "result" }
  if (!role.startsWith('user"')) return parsedEnding(body())
  const content = contentAfter(bytes, at + roleKey.length + 'user",'.length)
  return content === undefined ? parsedEnding(body()) : endingOfContent(content)
}

/** The value of `"content":` at this byte; undefined if there is no such key. */
function contentAfter(bytes: Buffer, at: number): unknown {
  const start = at + contentKey.length
  if (bytes.toString("latin1", at, start) !== contentKey) return undefined
  const end = valueEnd(bytes, start)
  return end === undefined ? undefined : JSON.parse(bytes.toString("utf8", start, end))
}

const [quote, backslash, openList, closeList, openObject, closeObject] = Buffer.from('"\\[]{}')

function valueEnd(bytes: Buffer, start: number): number | undefined {
  let depth = 0
  for (let i = start; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === quote) {
      for (i++; bytes[i] !== quote; i++) {
        if (i >= bytes.length) return undefined
        if (bytes[i] === backslash) i++
      }
    } else if (byte === openList || byte === openObject) depth++
    else if (byte === closeList || byte === closeObject) depth--
    if (depth === 0) return i + 1
  }
  return undefined
}

function parsedEnding({ messages }: RequestBody): Ending {
  const last = messages.findLast((message) => message.role === "user" || message.role === "tool")
  return last?.role === "tool" ? { kind: "result" } : endingOfContent(last?.content)
}

function endingOfContent(content: unknown): Ending {
  if (typeof content === "string") return { kind: "user", texts: [content] }
  const parts = (Array.isArray(content) ? content : []) as { type?: string; text?: string }[]
  if (parts.at(-1)?.type === "tool_result") return { kind: "result" }
  const afterResults = parts.slice(parts.findLastIndex((part) => part.type === "tool_result") + 1)
  return { kind: "user", texts: afterResults.map((part) => part.text ?? "").filter(Boolean) }
}
