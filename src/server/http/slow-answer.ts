import type { ServerResponse } from "node:http"
import { NodeSink, type Sink, WebSink } from "../streams/sink.ts"
import type { Call } from "./call.ts"
import { answerJson } from "./json-answer.ts"
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

interface SlowAnswer {
  later: PendingAnswer<unknown>
  everyMs: number
  errorBody: (error: unknown) => unknown
}

/**
 * Answers with JSON that is not ready yet. Sends the headers soon, white space at intervals so that no proxy closes
 * the idle connection, and the JSON at the end. The work goes on if the client disconnects.
 */
export function sendSlowly(call: Call, options: SlowAnswer): Response {
  const headers = { ...call.headers, "content-type": "application/json", "cache-control": "no-store" }
  const { outgoing } = call
  if (outgoing) {
    finishSoon(call, outgoing, { ...options, headers })
    return call.sent()
  }
  const sink = new WebSink()
  finish(sink, options)
  return new Response(sink.stream, { headers })
}

/** An answer that is ready before this is sent at once, as one write with its headers. */
const headersAfterMs = 50

function finishSoon(
  call: Call,
  outgoing: ServerResponse,
  { headers, ...options }: SlowAnswer & { headers: Record<string, string> },
): void {
  let isSlow = false
  const timer = setTimeout(() => {
    isSlow = true
    finish(new NodeSink(outgoing, { status: 200, headers }), options)
  }, headersAfterMs)
  const end = (body: unknown) => {
    if (isSlow) return
    clearTimeout(timer)
    if (!outgoing.destroyed) answerJson(call, body, { status: 200, headers })
  }
  options.later.answer.then(end, (error) => {
    if (!isSlow) end(options.errorBody(error))
  })
}

function finish(sink: Sink, { later, everyMs, errorBody }: SlowAnswer): void {
  const timer = setInterval(() => sink.write(space), everyMs).unref()
  const end = (body: unknown) => {
    clearInterval(timer)
    sink.write(Buffer.from(JSON.stringify(body)))
    sink.end()
  }
  later.answer.then(end, (error) => end(errorBody(error)))
}
