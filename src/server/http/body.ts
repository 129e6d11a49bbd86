import type { IncomingMessage } from "node:http"
import { findJsonExcess } from "../../protocol/index.ts"
import { HttpError } from "./errors.ts"

export interface BodyLimits {
  bytesMax: number
  timeoutMs: number
}

/**
 * A prompt has a few values and long texts. Checking a body takes time for each value, during which the server answers
 * nobody else.
 */
const valuesMax = 50_000

/** The body of a request as JSON. Undefined if there is no body. */
export async function readJson(
  request: { raw: Request; incoming: IncomingMessage | undefined },
  limits: BodyLimits,
): Promise<unknown> {
  const { raw, incoming } = request
  const declared = Number(raw.headers.get("content-length") ?? 0)
  if (declared > limits.bytesMax) throw tooLarge(limits)
  const bytes = incoming ? await readIncoming(incoming, limits) : await readStream(raw.body, limits)
  if (bytes.length === 0) return undefined
  const type = raw.headers.get("content-type") ?? ""
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new HttpError(415, "Send JSON, with the header `Content-Type: application/json`.")
  }
  return parse(bytes)
}

function parse(bytes: Buffer): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    const excess = findJsonExcess(text, { valuesMax })
    if (excess)
      throw new HttpError(
        400,
        `The body ${excess.problem}. Send JSON with less nesting, or in several calls.`,
      )
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof HttpError) throw error
    throw new HttpError(400, `The body is not valid JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

function readIncoming(incoming: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (result: () => void) => {
      clearTimeout(timer)
      incoming.off("data", take).off("end", end).off("error", fail).off("close", cut)
      result()
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > limits.bytesMax) settle(() => reject(tooLarge(limits)))
      else chunks.push(chunk)
    }
    const end = () => settle(() => resolve(Buffer.concat(chunks)))
    const fail = () => settle(() => reject(incompleteBody()))
    const cut = () => settle(() => reject(incompleteBody()))
    const timer = setTimeout(() => settle(() => reject(tooSlow(limits))), limits.timeoutMs)
    incoming.on("data", take).on("end", end).on("error", fail).on("close", cut)
  })
}

async function readStream(body: ReadableStream<Uint8Array> | null, limits: BodyLimits): Promise<Buffer> {
  if (!body) return Buffer.alloc(0)
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(tooSlow(limits)), limits.timeoutMs)
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late.promise])
      if (done) return Buffer.concat(chunks)
      size += value.length
      if (size > limits.bytesMax) throw tooLarge(limits)
      chunks.push(value)
    }
  } finally {
    clearTimeout(timer)
    late.promise.catch(() => {})
    reader.cancel().catch(() => {})
  }
}

/** The rest of such a request is not read, so the connection closes after the answer. */
const closeConnection = { connection: "close" }

/**
 * No `connection: close` header here: with it the connection closes at once, and a client that is still sending could
 * not read the answer. The server discards the rest of the body for a moment, then closes the connection unless the
 * body is complete.
 */
function tooLarge({ bytesMax }: BodyLimits): HttpError {
  const limit = `${Math.floor(bytesMax / 1024 / 1024)} MiB`
  return new HttpError(413, `The body is larger than ${limit}. Send a smaller one.`)
}

function tooSlow({ timeoutMs }: BodyLimits): HttpError {
  return new HttpError(408, `The body did not arrive within ${timeoutMs / 1000} s. Send it again.`, {
    headers: closeConnection,
  })
}

function incompleteBody(): HttpError {
  return new HttpError(400, "The request ended before its body was complete. Send it again.", {
    headers: closeConnection,
  })
}
