import { StemmaError } from "../protocol/index.ts"
import { errorOf } from "./answer-error.ts"
import { ResponseTimeout } from "./stream/response-timeout.ts"

export type Fetch = (request: Request) => Promise<Response>

/** How a client comes back to a server that it lost. */
export interface Reconnect {
  /** The first wait; each one after it is twice as long. 250 if absent. */
  firstMs?: number
  /** The longest wait. 10,000 if absent. */
  maxMs?: number
  /** How long nothing at all may arrive on a stream, or of what a replica reads, before it counts as lost. 45,000 if absent. */
  silenceMs?: number
}

interface Common {
  /** What the server asks callers for. */
  token?: string
  /** Sent with each request. */
  headers?: Record<string, string>
  /** The directory that calls are about if they take one and none is given. */
  directory?: string
  reconnect?: Reconnect
}

/** Where the server is: an address, or its `app.fetch` in this process. */
export type ClientOptions =
  | (Common & { baseUrl: string; fetch?: Fetch })
  | (Common & { fetch: Fetch; baseUrl?: string })

export interface Sending {
  method: string
  path: string
  query?: Record<string, string>
  /** Sent as JSON. */
  body?: unknown
  accept?: string
  signal?: AbortSignal | undefined
  /** How long nothing at all may arrive before it counts as lost. For ever if absent: a model may take its time. */
  silenceMs?: number | undefined
}

const ownAddress = "http://stemma.local"

/** The way to a server: requests out, answers that are no errors in. */
export class Connection {
  readonly directory: string | undefined
  readonly reconnect: Required<Reconnect>
  readonly #base: string
  readonly #headers: Record<string, string>
  readonly #fetch: Fetch

  constructor(options: ClientOptions) {
    if (options.baseUrl === undefined && options.fetch === undefined) {
      throw new StemmaError(
        "invalid",
        "Say where the server is: `baseUrl`, or `fetch` of one in this process.",
      )
    }
    this.#base = baseOf(options.baseUrl ?? ownAddress)
    this.#headers = { ...options.headers, ...(options.token !== undefined && bearer(options.token)) }
    // A browser's own must be called as what it is, not as a method of something else.
    this.#fetch = options.fetch ?? ((request) => globalThis.fetch(request))
    this.directory = options.directory
    this.reconnect = { firstMs: 250, maxMs: 10_000, silenceMs: 45_000, ...options.reconnect }
  }

  /** Throws a StemmaError unless the server answers that all is well, and the signal's reason if that comes first. */
  async send(sending: Sending): Promise<Response> {
    const { silenceMs } = sending
    const watch =
      silenceMs === undefined ? undefined : new ResponseTimeout({ silenceMs, signal: sending.signal })
    const signal = watch?.signal ?? sending.signal
    watch?.start()
    try {
      const answer = await this.#fetched(this.#request({ ...sending, signal }), signal)
      const response = watch ? watch.over(answer) : answer
      if (response.ok) return response
      const error = await errorOf(response)
      signal?.throwIfAborted()
      throw error
    } finally {
      watch?.stop()
    }
  }

  #request({ method, path, query, body, accept, signal }: Sending): Request {
    const search = query && Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ""
    return new Request(`${this.#base}${path}${search}`, {
      method,
      headers: {
        ...this.#headers,
        accept: accept ?? "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      // A redirected call would be another call, and a token is for this server alone.
      redirect: "error",
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  }

  async #fetched(request: Request, signal: AbortSignal | undefined): Promise<Response> {
    signal?.throwIfAborted()
    const fetch = this.#fetch
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const abort = () => reject(signal!.reason)
    signal?.addEventListener("abort", abort, { once: true })
    let isOver = false
    const answer = fetch(request).then((response) => {
      // One that takes no notice of signals answers though nobody is there any more.
      if (isOver) response.body?.cancel().catch(() => {})
      return response
    })
    try {
      return await Promise.race([answer, aborted])
    } catch (error) {
      isOver = true
      answer.catch(() => {})
      if (signal?.aborted) throw signal.reason
      throw unreachable(this.#base, error)
    } finally {
      signal?.removeEventListener("abort", abort)
    }
  }
}

function unreachable(base: string, cause: unknown): StemmaError {
  return new StemmaError("unavailable", `The server at ${base} cannot be reached. See whether it runs.`, {
    cause,
  })
}

/** Without what is no part of an address: a token after `#` stays here. */
function baseOf(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol)) return `${url.origin}${url.pathname.replace(/\/+$/, "")}`
  throw new StemmaError("invalid", "`baseUrl` is no address: write one such as http://127.0.0.1:4096.")
}

function bearer(token: string): { authorization: string } {
  if (/^[\x21-\x7e]+$/.test(token)) return { authorization: `Bearer ${token}` }
  throw new StemmaError(
    "invalid",
    "A token has no blanks and no line ends. Give it as the server printed it.",
  )
}
