import { NodeSink, type Sink, WebSink } from "../streams/sink.ts"
import type { Call } from "./call.ts"
import type { Later } from "./mount.ts"

const space = Buffer.from(" ")

/** What is refused is mostly refused at once; then the status of the answer can still say so. */
const refusalMs = 1000

/** Work whose refusal is known only by its beginning: throws if it is refused at once. */
export async function begun<T>(answer: Promise<T>): Promise<Later<T>> {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, refusalMs)
  })
  try {
    await Promise.race([answer, patience])
  } finally {
    clearTimeout(timer)
  }
  return { answer }
}

/**
 * Answers with JSON that is not there yet: headers now, white space now and then so that nobody on the way gives the
 * connection up, the answer when it comes. Whoever leaves stops nothing.
 */
export function sendSlowly(
  call: Call,
  options: { later: Later<unknown>; everyMs: number; errorBody: (error: unknown) => unknown },
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
  }: { later: Later<unknown>; everyMs: number; errorBody: (error: unknown) => unknown },
): void {
  const timer = setInterval(() => sink.write(space), everyMs).unref()
  const end = (body: unknown) => {
    clearInterval(timer)
    sink.write(Buffer.from(JSON.stringify(body)))
    sink.end()
  }
  later.answer.then(end, (error) => end(errorBody(error)))
}
