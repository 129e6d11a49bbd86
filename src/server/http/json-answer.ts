import type { Call } from "./call.ts"

/**
 * Answers with JSON. To a caller on the network the bytes are written at once: a `Response` with a body would pass
 * through a web stream, which takes longer than most handlers.
 */
export function answerJson(
  call: Call,
  value: unknown,
  { status, headers }: { status: number; headers: Record<string, string> },
): Response {
  const { outgoing } = call
  if (!outgoing) return Response.json(value, { status, headers })
  if (outgoing.headersSent) return call.sent()
  const bytes = Buffer.from(JSON.stringify(value))
  outgoing.writeHead(status, {
    "content-type": "application/json",
    ...headers,
    "content-length": String(bytes.length),
  })
  outgoing.end(bytes)
  return call.sent()
}
