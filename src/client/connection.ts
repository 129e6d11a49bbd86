import { StemmaError } from "../protocol/error/error.ts"
import { errorOf } from "./answer-error.ts"
import { ResponseTimeout } from "./stream/response-timeout.ts"

export type Fetch = (request: Request) => Promise<Response>

/** How a client reconnects after it lost the server. */
export interface Reconnect {
  /** The first delay. Each further delay is twice as long. 250 if absent. */
  firstMs?: number
  /** The longest delay. 10,000 if absent. */
  maxMs?: number
  /** A stream, or a read of a replica, counts as lost when no byte arrives for this long. 45,000 if absent. */
  silenceMs?: number
}

interface CommonOptions {
  /** The token that the server requires. */
  token?: string
  headers?: Record<string, string>
  /** The default for calls that take a directory. */
  directory?: string
  reconnect?: Reconnect
}

/** How to reach the server: an address, or the `app.fetch` of a server in this process. */
export type ClientOptions =
  | (CommonOptions & { baseUrl: string; fetch?: Fetch })
  | (CommonOptions & { fetch: Fetch; baseUrl?: string })

export interface RequestOptions {
  method: string
  path: string
  query?: Record<string, string>
  /** Sent as JSON. */
  body?: unknown
  accept?: string
  signal?: AbortSignal | undefined
  /**
   * The request counts as lost when no byte arrives for this long. No limit if absent, because a model may take long.
   */
  silenceMs?: number | undefined
}

const inProcessAddress = "http://stemma.local"

/** Sends requests to a server. Returns successful answers and throws errors. */
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
        "The client needs `baseUrl`, the address of a server, or `fetch`, the `app.fetch` of a server in this process.",
      )
    }
    this.#base = baseAddress(options.baseUrl ?? inProcessAddress)
    this.#headers = { ...options.headers, ...(options.token !== undefined && bearer(options.token)) }
    // A browser throws if its own `fetch` is called as a method of another object.
    this.#fetch = options.fetch ?? ((request) => globalThis.fetch(request))
    this.directory = options.directory
    this.reconnect = { firstMs: 250, maxMs: 10_000, silenceMs: 45_000, ...options.reconnect }
  }

  /**
   * Throws a StemmaError unless the answer is successful. Throws the signal's reason if the signal is aborted first.
   */
  async send(options: RequestOptions): Promise<Response> {
    const { silenceMs } = options
    const timeout =
      silenceMs === undefined ? undefined : new ResponseTimeout({ silenceMs, signal: options.signal })
    const signal = timeout?.signal ?? options.signal
    timeout?.start()
    try {
      const answer = await this.#fetched(this.#request({ ...options, signal }), signal)
      const response = timeout ? timeout.wrap(answer) : answer
      if (response.ok) return response
      const error = await errorOf(response)
      signal?.throwIfAborted()
      throw error
    } finally {
      timeout?.stop()
    }
  }

  #request({ method, path, query, body, accept, signal }: RequestOptions): Request {
    const search = query && Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ""
    return new Request(`${this.#base}${path}${search}`, {
      method,
      headers: {
        ...this.#headers,
        accept: accept ?? "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      // A redirect could change the method, and the token belongs to this server only.
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
      // A custom `fetch` may ignore the signal and answer after the call was aborted.
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
  return new StemmaError("unavailable", `The server at ${base} cannot be reached. Check that it runs.`, {
    cause,
  })
}

/** The address without query and fragment, because a token may stand after `#` and must not be sent. */
function baseAddress(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol)) return `${url.origin}${url.pathname.replace(/\/+$/, "")}`
  throw new StemmaError(
    "invalid",
    "`baseUrl` is not an http or https address. Write one such as http://127.0.0.1:4096.",
  )
}

function bearer(token: string): { authorization: string } {
  if (/^[\x21-\x7e]+$/.test(token)) return { authorization: `Bearer ${token}` }
  throw new StemmaError(
    "invalid",
    "The token contains spaces, line breaks or characters that are not ASCII. Pass it as the server printed it.",
  )
}
