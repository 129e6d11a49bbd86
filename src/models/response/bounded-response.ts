import { jsonDepthMax } from "../../protocol/index.ts"
import { ModelError } from "../model-error.ts"
import { EventDepth } from "./event-depth.ts"

export interface ResponseBounds {
  /** The model's name for error texts: `openai/gpt-5`. */
  name: string
  /** How many bytes an answer may have, after decompression. */
  bytesMax: number
}

/** More of an error's body is not read: its reason is at the start, and only some kilobytes are kept. */
const errorBytesMax = 1024 * 1024

export const mebibyte = 1024 * 1024

/**
 * Returns the same response with a body that ends with a ModelError once it has too many bytes or JSON that is nested
 * too deeply. The body of an error is cut instead, so that its reason is still read.
 */
export function boundedResponse(response: Response, bounds: ResponseBounds): Response {
  const { body, headers, status, statusText, ok } = response
  if (!body) return response
  const type = headers.get("content-type") ?? ""
  if (ok && /^text\/html\b/i.test(type)) {
    body.cancel().catch(() => {})
    throw new ModelError(
      "malformed",
      `The server of ${bounds.name} sent a web page instead of an answer. Check the provider's baseURL.`,
    )
  }
  const depth = ok && /^text\/event-stream\b/i.test(type) ? new EventDepth() : undefined
  const bounded = ok ? checkedBody(body, { ...bounds, depth }) : cutBody(body, errorBytesMax)
  // A body with another length than its header says would be an error.
  const kept = new Headers(headers)
  kept.delete("content-length")
  return new Response(bounded, { headers: kept, status, statusText })
}

function checkedBody(
  body: ReadableStream<Uint8Array>,
  { name, bytesMax, depth }: ResponseBounds & { depth: EventDepth | undefined },
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let left = bytesMax
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        left -= value.length
        const error = left < 0 ? tooLong(name, bytesMax) : depth?.exceeds(value) ? tooDeep(name) : undefined
        if (!error) return controller.enqueue(value)
        controller.error(error)
        reader.cancel(error).catch(() => {})
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

function cutBody(body: ReadableStream<Uint8Array>, bytesMax: number): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let left = bytesMax
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (!done) controller.enqueue(value.subarray(0, left))
        left -= done ? left : value.length
        if (left > 0) return
        controller.close()
        if (!done) reader.cancel().catch(() => {})
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

function tooLong(name: string, bytesMax: number): ModelError {
  return new ModelError(
    "refused",
    `The answer of ${name} was stopped after ${sizeText(bytesMax)}, and what had arrived is kept. If longer answers are meant, raise answer.bytesMax in the config.`,
  )
}

function tooDeep(name: string): ModelError {
  return new ModelError(
    "refused",
    `The answer of ${name} was stopped: its JSON is nested deeper than ${jsonDepthMax} levels. Check the server of the model.`,
  )
}

/** A number of bytes for an error text. */
export function sizeText(bytes: number): string {
  return bytes >= mebibyte ? `${Math.round((bytes / mebibyte) * 10) / 10} MiB` : `${bytes} bytes`
}
