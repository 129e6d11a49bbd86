import { NodeSink, type Sink, WebSink } from "../streams/sink.ts"
import type { Call } from "./call.ts"
import type { PendingAnswer } from "./mount.ts"

const space = Buffer.from(" ")

/** Most refusals come at once, while the status of the answer can still be an error. */
const earlyRefusalMs = 1000

/** Waits shortly for an early refusal of the work, and throws it. Otherwise returns the pending answer. */
export async function waitForEarlyRefusal<T>(answer: Promise<T>): Promise<PendingAnswer<T>> {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, earlyRefusalMs)
  })
  try {
    await Promise.race([answer, patience])
  } finally {
    clearTimeout(timer)
  }
  return { answer }
}

/**
 * Answers with JSON that is not ready yet. Sends the headers at once, white space at intervals so that no proxy closes
 * the idle connection, and the JSON at the end. The work goes on if the client disconnects.
 */
export function sendSlowly(
  call: Call,
  options: { later: PendingAnswer<unknown>; everyMs: number; errorBody: (error: unknown) => unknown },
): Response {
  const headers = { ...call.headers, "content-type": "application/json", "cache-control": "no-store" }
  if (call.outgoing) {
    finish(new NodeSink(call.outgoing, { status: 200, headers }), options)
    return call.sent()
  }
  const sink = new WebSink()
  finish(sink, options)
  return new Response(sink.stream, { headers })
}

function finish(
  sink: Sink,
  {
    later,
    everyMs,
    errorBody,
  }: { later: PendingAnswer<unknown>; everyMs: number; errorBody: (error: unknown) => unknown },
): void {
  const timer = setInterval(() => sink.write(space), everyMs).unref()
  const end = (body: unknown) => {
    clearInterval(timer)
    sink.write(Buffer.from(JSON.stringify(body)))
    sink.end()
  }
  later.answer.then(end, (error) => end(errorBody(error)))
}
