import { once } from "node:events"
import { request as httpRequest, type IncomingMessage } from "node:http"
import type { OpenApiDocument, Operation } from "../../../src/server/openapi/openapi.ts"
import { mismatch, type Schema } from "./fuzz-json-schema.ts"
import type { FuzzRequest } from "./fuzz-requests.ts"
import { type FuzzWorld, secrets } from "./fuzz-world.ts"
import { token } from "./http-scene.ts"
import { allOperations } from "./safety-scene.ts"

export interface FuzzAnswer {
  status: number
  headers: Record<string, string>
  /** The part of the body that arrived. */
  body: string
  isWhole: boolean
}

const answerMs = 5000
const ownError = { $ref: "#/components/schemas/Error" }

/** Sends through the server's fetch function, with the Host and the token of a caller on the network. */
export async function sendInProcess(world: FuzzWorld, request: FuzzRequest): Promise<FuzzAnswer> {
  const { method, path, query, headers, body } = request
  const response = await world.server.fetch(
    new Request(`${world.url}${path}${query && `?${query}`}`, {
      method,
      headers: { host: new URL(world.url).host, authorization: `Bearer ${token}`, ...headers },
      ...(body !== undefined && { body }),
    }),
  )
  const answer = { status: response.status, headers: Object.fromEntries(response.headers) }
  if (!response.body) return { ...answer, body: "", isWhole: true }
  const reader = response.body.getReader()
  const chunks = (async function* () {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  })()
  return {
    ...answer,
    ...(await readBody(chunks, { world, leave: () => void reader.cancel().catch(() => {}) })),
  }
}

/** Sends over a connection, with the URL as it was written. */
export async function sendOverNetwork(world: FuzzWorld, request: FuzzRequest): Promise<FuzzAnswer> {
  const { method, path, query, headers, body } = request
  const outgoing = httpRequest(world.url, {
    method,
    path: `${path}${query && `?${query}`}`,
    headers: {
      authorization: `Bearer ${token}`,
      ...headers,
      ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
    },
  })
  outgoing.end(body)
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage]
  const answer = { status: incoming.statusCode!, headers: incoming.headers as Record<string, string> }
  return { ...answer, ...(await readBody(incoming, { world, leave: () => incoming.destroy() })) }
}

/** Reads the whole body. A body that waits for a person or never ends is abandoned when the server is idle. */
async function readBody(
  chunks: AsyncIterable<Uint8Array>,
  { world, leave }: { world: FuzzWorld; leave: () => void },
): Promise<{ body: string; isWhole: boolean }> {
  const all: Uint8Array[] = []
  const read = async () => {
    for await (const chunk of chunks) all.push(chunk)
    return true
  }
  const whole = read().catch(() => false)
  const soon = new Promise<undefined>((resolve) => setTimeout(resolve, 10, undefined))
  const isWhole = (await Promise.race([whole, soon])) ?? (await Promise.race([whole, world.isIdle()]))
  if (!isWhole) leave()
  return { body: Buffer.concat(all).toString(), isWhole }
}

/** Fails after a timeout: a request that hangs is a failure too. */
export async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`There was no answer within ${answerMs} ms.`)),
    answerMs,
  )
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Finds problems in an answer. */
export class AnswerCheck {
  readonly #root: Schema
  readonly #operations = new Map<string, Operation>()
  /** The operations that succeeded at least once. */
  readonly done = new Set<string>()
  readonly statuses = new Map<number, number>()

  constructor(document: OpenApiDocument) {
    this.#root = document as unknown as Schema
    for (const { method, path, operation } of allOperations())
      this.#operations.set(`${method} ${path}`, operation)
  }

  get names(): string[] {
    return [...this.#operations.values()].map(({ operationId }) => operationId)
  }

  problemOf(request: FuzzRequest, answer: FuzzAnswer): string | undefined {
    const { status, headers, body } = answer
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    for (const [name, secret] of Object.entries(secrets))
      if (body.includes(secret) || JSON.stringify(headers).includes(secret)) return `It tells the ${name}.`
    if (headers["x-content-type-options"] !== "nosniff") return "The headers of safety are missing."
    if (status === 500) return "It failed."
    // The server answers 431 before it has chosen a route.
    if (status === 431) return mismatch(JSON.parse(body), ownError, this.#root)
    const operation = this.#operations.get(`${request.method} ${request.template}`)
    if (!operation) return request.method === "HEAD" ? undefined : this.#refusalProblem(status, body)
    return this.#declaredProblem(operation, answer)
  }

  /** A method that no operation has is refused with the common error shape. */
  #refusalProblem(status: number, body: string): string | undefined {
    if (![400, 404, 405].includes(status)) return `A method that is not of this path gives ${status}.`
    return mismatch(JSON.parse(body), ownError, this.#root)
  }

  #declaredProblem(
    { operationId, responses }: Operation,
    { status, headers, body, isWhole }: FuzzAnswer,
  ): string | undefined {
    const declared = responses[status]
    if (!declared) return `${operationId} does not say that it may answer ${status}.`
    if (status < 300) this.done.add(operationId)
    const { content } = ("$ref" in declared ? this.#response(declared.$ref) : declared) as {
      content?: Record<string, { schema: Schema; "x-data"?: Schema }>
    }
    if (!content) return body === "" ? undefined : "There should be no body."
    const type = headers["content-type"]?.split(";")[0] ?? ""
    const media = content[type]
    if (!media) return `The body is ${type}, not ${Object.keys(content).join(" or ")}.`
    if (type === "application/json" && !isWhole)
      return body.trim() === "" ? undefined : "It stops in the middle."
    if (type === "application/json") return mismatch(JSON.parse(body), media.schema, this.#root)
    return type === "text/event-stream" ? this.#frameProblem(body, media["x-data"] ?? {}) : undefined
  }

  #response($ref: string): unknown {
    const { responses } = (this.#root as unknown as OpenApiDocument).components
    return responses[$ref.split("/").at(-1)!]
  }

  #frameProblem(body: string, schema: Schema): string | undefined {
    // The last frame of an abandoned stream may be incomplete.
    for (const block of body.split("\n\n").slice(0, -1)) {
      const data = block.split("\n").filter((line) => line.startsWith("data:"))
      if (data.length === 0) continue
      const wrong = mismatch(
        JSON.parse(data.map((line) => line.slice(5)).join("\n")),
        schema,
        this.#root,
        "frame",
      )
      if (wrong) return wrong
    }
    return undefined
  }
}
