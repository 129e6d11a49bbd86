import { StemmaError } from "../protocol/index.ts"
import type { Stemma } from "../run/index.ts"
import { buildApp } from "./app.ts"
import type { ServerContext } from "./http/call.ts"
import { errorAnswer } from "./http/errors.ts"
import { Guard } from "./http/guard.ts"
import { commonHeaders, preflight } from "./http/headers.ts"
import type { Listening } from "./http/listen.ts"
import type { App, Bindings } from "./http/mount.ts"
import { type ResolvedOptions, resolveOptions, type ServerOptions } from "./options.ts"
import { Presence } from "./presence.ts"
import { AutoShare } from "./share/auto-share.ts"
import type { Shares } from "./share/index.ts"
import { Streams } from "./streams/streams.ts"
import { prometheusText } from "./telemetry/metrics.ts"
import { ProcessMeter } from "./telemetry/process-figures.ts"

export interface ListenOptions {
  /** 4096 if absent; 0 means any free port. */
  port?: number
  /** 127.0.0.1 if absent. */
  host?: string
}

/** Creates a server for a Stemma. It does not listen yet. */
export function createServer(stemma: Stemma, options: ServerOptions = {}): StemmaServer {
  return new StemmaServer(stemma, resolveOptions(options))
}

export class StemmaServer implements AsyncDisposable {
  /**
   * For callers in this process, such as `createClient({ fetch: server.app.fetch })`. It requires no token, so do not
   * serve it on a network; use `fetch` for that.
   */
  readonly app: { fetch(request: Request): Promise<Response> }
  readonly #stemma: Stemma
  readonly #options: ResolvedOptions
  readonly #guard: Guard
  readonly #app: App
  readonly #context: ServerContext
  readonly #autoShare: AutoShare
  #shares: Promise<Shares> | undefined
  #others: Promise<App> | undefined
  #listening: Listening | undefined
  readonly #processMeter = new ProcessMeter()
  #isDraining = false
  #closing: Promise<void> | undefined

  constructor(stemma: Stemma, options: ResolvedOptions) {
    this.#stemma = stemma
    this.#options = options
    this.#guard = new Guard(options)
    this.#context = this.#createContext()
    this.#autoShare = new AutoShare({
      stemma,
      isReachable: () => options.publicUrl !== undefined || this.#listening !== undefined,
      share: (sessionID) => this.#context.share(sessionID, {}),
      onWarning: options.onWarning,
    })
    this.#app = buildApp(this.#context, () => this.#loadOthers())
    this.app = { fetch: async (request) => this.#app.fetch(request, { headers: commonHeaders }) }
  }

  /** Loaded with the first request for a route that is not Stemma's own: a one-shot run needs none of them. */
  #loadOthers(): Promise<App> {
    this.#others ??= Promise.all([import("./other-routes.ts"), this.#loadShares()]).then(
      ([{ buildOthers }, shares]) => buildOthers(this.#context, shares),
    )
    return this.#others
  }

  #loadShares(): Promise<Shares> {
    this.#shares ??= import("./share/index.ts").then(({ Shares }) => {
      const { token } = this.#options
      return new Shares({ stemma: this.#stemma, token, publicUrl: this.#context.publicUrl })
    })
    return this.#shares
  }

  /** Answers a request from a network. Checks the Host, the Origin and the token. */
  readonly fetch = async (request: Request, env: Bindings = {}): Promise<Response> => {
    const guard = this.#guard
    const allowed = guard.allowedOrigin(request.headers)
    const headers = allowed === undefined ? commonHeaders : { ...commonHeaders, ...corsHeaders(allowed) }
    try {
      guard.checkSource(request)
    } catch (error) {
      const { status, body } = errorAnswer(error)
      return Response.json(body, { status, headers })
    }
    if (request.method === "OPTIONS" && allowed !== undefined) return preflight(headers)
    return this.#app.fetch(request, { ...env, headers, guard })
  }

  /** Starts to listen on an address. */
  async listen({
    port = 4096,
    host = "127.0.0.1",
  }: ListenOptions = {}): Promise<{ url: string; port: number; host: string }> {
    if (this.#listening)
      throw new StemmaError("conflict", "This server already listens. Close it first, or create another one.")
    if (this.#closing) throw new StemmaError("unavailable", "This server is closed. Create another one.")
    const { listen } = await import("./http/listen.ts")
    this.#listening = await listen(this.fetch, { port, host, options: this.#options, guard: this.#guard })
    return { url: this.#listening.url, port: this.#listening.port, host }
  }

  /**
   * Accepts no more prompts, gives running prompts a few seconds while other requests are still answered, then ends
   * every stream and connection. Prompts that still run are left: closing the Stemma cuts them off, and the next
   * process continues them.
   */
  async close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    this.#isDraining = true
    const endMs = performance.now() + this.#options.drainMs
    for (
      let ms = 1;
      this.#stemma.statuses().size > 0 && performance.now() < endMs;
      ms = Math.min(2 * ms, 20)
    ) {
      await pause(ms)
    }
    // The last events of the runs are still on their way to subscribers.
    await this.#context.streams.whenNoneIsOpen({ timeoutMs: lastEventsMs })
    this.#autoShare.close()
    await this.#shares?.then((shares) => shares.close())
    this.#context.streams.close()
    this.#context.presence.close()
    this.#processMeter.close()
    await this.#listening?.close()
  }

  #createContext(): ServerContext {
    const options = this.#options
    return {
      stemma: this.#stemma,
      options,
      presence: new Presence(this.#stemma, options.interactive),
      streams: new Streams(options),
      isDraining: () => this.#isDraining,
      checkOpen: () => {
        if (!this.#isDraining) return
        throw new StemmaError(
          "unavailable",
          "The server is closing and accepts no more prompts. Try again soon.",
        )
      },
      afterEvents: async (sessionID, work) => {
        try {
          return await work
        } finally {
          if (this.#context.streams.count > 0) {
            await this.#stemma.eventsSent(sessionID).catch(options.onWarning)
            await this.#context.streams.written()
          }
        }
      },
      metrics: () =>
        prometheusText(this.#stemma.metrics(), {
          subscribers: this.#context.streams.count,
          process: this.#processMeter.read(),
        }),
      share: async (sessionID, include) => (await this.#loadShares()).share(sessionID, include),
      previewShare: async (sessionID, options) => (await this.#loadShares()).preview(sessionID, options),
      publicUrl: () => options.publicUrl ?? this.#listening?.url ?? "http://localhost",
    }
  }
}

/** Statuses are sent after the events of everything that was committed before, so `idle` may arrive this much later. */
const lastEventsMs = 300

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function corsHeaders(origin: string): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "Retry-After, Link, X-Next-Cursor, X-Session-Id, X-Message-Id",
    vary: "Origin",
  }
}
