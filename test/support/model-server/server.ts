import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Answer, AnswerSource, ProtocolName, RequestBody, ServedRequest } from "./answer.ts"
import { anthropic } from "./anthropic.ts"
import { commandAnswer, plainSay } from "./commands.ts"
import { configFor, type ModelConfig } from "./config.ts"
import { endingOf } from "./last-user-text.ts"
import { openai } from "./openai.ts"
import type { WireProtocol } from "./protocol.ts"
import { createSayings } from "./sayings.ts"
import { send, sseHeaders } from "./send.ts"

export type * from "./answer.ts"
export { signature } from "./anthropic.ts"
export { defaultText, words } from "./commands.ts"
export type { ModelConfig } from "./config.ts"

export interface ModelServerOptions {
  /** Answers every request for which no scripted answer is left, instead of the commands in the user's text. */
  fallback?: AnswerSource
  /** Which requests take answers from the script; all by default. The others get the fallback. */
  queued?: (request: ServedRequest) => boolean
  /** How many of the last requests are kept; all by default. */
  requestsKept?: number
}

export interface ModelServer extends AsyncDisposable {
  url: string
  /** The `baseURL` for a provider: `${url}/v1`. */
  baseURL: string
  /** The requests in the order of their arrival, with their bodies. */
  requests: ServedRequest[]
  /** Adds answers; each answers one request. */
  script(...answers: AnswerSource[]): void
  /** How many scripted answers are left. */
  readonly scripted: number
  fallback: AnswerSource | undefined
  /** The `model` and `provider` of a config that points to this server. */
  config(protocol?: ProtocolName, model?: ModelConfig): ReturnType<typeof configFor>
  /** Breaks every connection. */
  close(): Promise<void>
}

const protocols: Record<string, WireProtocol> = {
  "/v1/chat/completions": openai,
  "/v1/messages": anthropic,
}

/** A provider on loopback with scripted answers and scripted faults. */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const { requestsKept = Number.POSITIVE_INFINITY, queued = () => true } = options
  const queue: AnswerSource[] = []
  const requests: ServedRequest[] = []
  const sayings = createSayings()
  const closing = new AbortController()
  let calls = 0
  let fallback = options.fallback

  const http = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      if (response.destroyed) return
      if (response.headersSent) response.destroy()
      else response.writeHead(500).end(String(error))
    })
  })

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = Date.now()
    const bytes = await readAll(incoming)
    const protocol = protocols[incoming.url ?? ""]
    if (!protocol || incoming.method !== "POST") {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"Not found"}}')
      return
    }
    const request = served({ incoming, bytes, at, protocol: protocol.name })
    keep(request)
    const left = new AbortController()
    response.once("close", () => {
      request.aborted = !response.writableFinished
      left.abort()
    })
    const source = queued(request) ? (queue.shift() ?? fallback) : fallback
    const stream = bytes.includes('"stream":true')
    const includeUsage = bytes.includes('"include_usage":true')
    const frame = { includeUsage, callID: () => `call_${++calls}` }
    if (source === undefined) {
      const ending = endingOf(bytes, () => request.body)
      const count = stream ? plainSay(ending) : undefined
      if (count !== undefined) {
        response.writeHead(200, sseHeaders).end(sayings({ protocol, count, includeUsage }))
        return
      }
      return answerWith(commandAnswer(ending))
    }
    return answerWith(typeof source === "function" ? await source(request) : source)

    async function answerWith(answer: Answer): Promise<void> {
      const signal = AbortSignal.any([left.signal, closing.signal])
      await send(response, answer, { protocol: protocol!, stream, frame, signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
    }
  }

  function keep(request: ServedRequest): void {
    requests.push(request)
    if (requests.length > requestsKept) requests.splice(0, requests.length - requestsKept)
  }

  http.listen(0, "127.0.0.1")
  await once(http, "listening")
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const close = async () => {
    if (!http.listening) return
    closing.abort()
    const closed = once(http, "close")
    http.close()
    http.closeAllConnections()
    await closed
  }
  return {
    url,
    baseURL: `${url}/v1`,
    requests,
    script: (...answers) => void queue.push(...answers),
    get scripted() {
      return queue.length
    },
    get fallback() {
      return fallback
    },
    set fallback(value) {
      fallback = value
    },
    config: (protocol = "openai", model = {}) => configFor(`${url}/v1`, { protocol, ...model }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function served(from: {
  incoming: IncomingMessage
  bytes: Buffer
  at: number
  protocol: ProtocolName
}): ServedRequest {
  const { incoming, bytes, at, protocol } = from
  let body: RequestBody | undefined
  return {
    protocol,
    path: incoming.url!,
    headers: incoming.headers,
    get body() {
      body ??= JSON.parse(bytes.toString("utf8")) as RequestBody
      return body
    },
    bytes,
    at,
    aborted: false,
  }
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}
