import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import type { Answer, PlainAnswer, StreamFault } from "./answer.ts"
import type { FrameOptions, Frames, WireProtocol } from "./protocol.ts"

export interface SendOptions {
  protocol: WireProtocol
  stream: boolean
  frame: FrameOptions
  /** Aborted when the client leaves or the server closes. */
  signal: AbortSignal
}

export const sseHeaders = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" }

/** The delay before a reset, so that the client has read the bytes before it. */
const settleMs = 30
const defaultAfterDeltas = 2
const slowDelayMs = 100
const writeCharacters = 16_384

/** Sends one answer or fault, to its end or until the signal aborts. */
export async function send(response: ServerResponse, answer: Answer, options: SendOptions): Promise<void> {
  if (!("fault" in answer)) return sendPlain(response, answer, options)
  if (answer.fault !== "status") return sendFault(response, answer, options)
  const body = answer.body ?? options.protocol.refusal(answer.status)
  const json = typeof body !== "string"
  response.writeHead(answer.status, {
    "content-type": json ? "application/json" : "text/plain",
    ...answer.headers,
  })
  response.end(json ? JSON.stringify(body) : body)
}

async function sendPlain(response: ServerResponse, answer: PlainAnswer, options: SendOptions): Promise<void> {
  const { protocol, stream, frame, signal } = options
  if (!stream) {
    if (answer.firstDelayMs) await delay(answer.firstDelayMs, undefined, { signal })
    return sendJson(response, 200, protocol.whole(answer, frame))
  }
  const frames = protocol.frames(answer, frame)
  await sendFrames(response, frames, { answer, signal })
  response.end(frames.tail)
}

async function sendFault(response: ServerResponse, answer: StreamFault, options: SendOptions): Promise<void> {
  const { protocol, frame, signal } = options
  const after = answer.afterDeltas ?? defaultAfterDeltas
  const frames = protocol.frames(withText(answer), frame)
  const first: Frames = { ...frames, deltas: frames.deltas.slice(0, after) }
  const rest: Frames = { ...frames, head: "", deltas: frames.deltas.slice(after) }
  const start = () => sendFrames(response, first, { answer, signal })
  switch (answer.fault) {
    case "reset-before":
      response.socket?.resetAndDestroy()
      return
    case "reset-after":
      await start()
      await delay(settleMs, undefined, { signal })
      response.socket?.resetAndDestroy()
      return
    case "truncated":
      await start()
      response.end()
      return
    case "stall":
      if (!answer.beforeHeaders) await start()
      if (!signal.aborted) await once(signal, "abort")
      return
    case "malformed":
      await start()
      response.write(protocol.malformed)
      await sendFrames(response, rest, { answer, signal })
      response.end(rest.tail)
      return
    case "error-event":
      await start()
      response.end(protocol.errorEvent)
      return
    case "slow":
      return sendPlain(
        response,
        { ...withText(answer), tokenDelayMs: answer.tokenDelayMs ?? slowDelayMs },
        options,
      )
    case "empty":
      return sendPlain(response, {}, options)
    case "unknown-finish":
      return sendPlain(response, { ...withText(answer), finish: answer.finish ?? "unheard_of" }, options)
    case "context-length":
      return sendJson(response, 400, protocol.contextLength)
  }
}

function withText(answer: StreamFault): PlainAnswer {
  const { text, reasoning, calls } = answer
  return (text ?? reasoning ?? calls) ? answer : { ...answer, text: "one two three four five six" }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

/** Sends headers, head and deltas; without a delay many deltas share a write. */
async function sendFrames(
  response: ServerResponse,
  { head, deltas }: Frames,
  { answer, signal }: { answer: PlainAnswer; signal: AbortSignal },
): Promise<void> {
  if (!response.headersSent) response.writeHead(200, sseHeaders)
  await write(response, head, signal)
  if (answer.firstDelayMs && head) await delay(answer.firstDelayMs, undefined, { signal })
  if (answer.tokenDelayMs) {
    for (const [i, delta] of deltas.entries()) {
      if (i > 0) await delay(answer.tokenDelayMs, undefined, { signal })
      await write(response, delta, signal)
    }
    return
  }
  let waiting = ""
  for (const delta of deltas) {
    waiting += delta
    if (waiting.length < writeCharacters) continue
    await write(response, waiting, signal)
    waiting = ""
  }
  await write(response, waiting, signal)
}

async function write(response: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (text !== "" && !response.write(text)) await once(response, "drain", { signal })
}
