import type { Attributes, Context, Span } from "@opentelemetry/api"
import { version } from "../../protocol/index.ts"

type Api = typeof import("@opentelemetry/api")

/** The parent of a span, possibly the span in which a prompt was sent. */
export type TraceContext = Context

/**
 * The key under which the API registers a tracer provider globally, so that all copies of the API in a process share
 * it. Reading the key directly avoids loading the API, which takes 10 ms: most processes have no tracer provider.
 */
const registryKey = Symbol.for("opentelemetry.js.api.1")

function isRegistered(): boolean {
  const registry = (globalThis as { [key: symbol]: { trace?: unknown } | undefined })[registryKey]
  return registry?.trace !== undefined
}

/** The most kept contexts of waiting prompts. Above it, the oldest context is dropped; its prompt is still answered. */
const contextsMax = 1000

/**
 * Makes spans while a tracer provider is registered with `@opentelemetry/api`. The API is loaded when it is first
 * needed. Errors of a provider are ignored: they must not fail a run.
 */
export class Tracing {
  /** True if spans may contain messages, tool input and tool output. */
  readonly showsContent: boolean
  readonly #contexts = new Map<string, Context>()
  #loaded: Api | undefined
  #loading: Promise<void> | undefined

  constructor({ env }: { env: Record<string, string | undefined> }) {
    this.showsContent = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.toLowerCase() === "true"
  }

  /** Loads the API if a provider is registered. The caller must await a returned promise before it makes spans. */
  prepare(): Promise<void> | undefined {
    if (this.#loaded || !isRegistered()) return undefined
    this.#loading ??= import("@opentelemetry/api").then(
      (api) => {
        this.#loaded = api
      },
      // If the API is not installed, there are no spans.
      () => {},
    )
    return this.#loading
  }

  /** The active context of the caller. */
  active(): TraceContext | undefined {
    return ignoreErrors(() => this.#api?.context.active())
  }

  /** Keeps, in this process only, the context in which a prompt was sent: the given one, or the caller's active one. */
  keep(promptID: string, context: TraceContext | undefined = this.active()): void {
    if (!context || this.#contexts.has(promptID)) return
    this.#contexts.set(promptID, context)
    if (this.#contexts.size <= contextsMax) return
    const [oldest] = this.#contexts.keys()
    this.#contexts.delete(oldest!)
  }

  /** Removes and returns the context in which a prompt was sent. */
  take(promptID: string): TraceContext | undefined {
    const context = this.#contexts.get(promptID)
    if (context) this.#contexts.delete(promptID)
    return context
  }

  /** Undefined if no tracer provider is registered. */
  start(
    name: string,
    options: { kind: "client" | "internal"; attributes: Attributes; parent: TraceContext | undefined },
  ): TracedSpan | undefined {
    const api = this.#api
    if (!api) return undefined
    return ignoreErrors(() => {
      const parent = options.parent ?? api.ROOT_CONTEXT
      const kind = options.kind === "client" ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL
      const span = api.trace
        .getTracer("stemma", version)
        .startSpan(name, { kind, attributes: options.attributes }, parent)
      return new TracedSpan({ api, span, context: api.trace.setSpan(parent, span) })
    })
  }

  get #api(): Api | undefined {
    return this.#loaded && isRegistered() ? this.#loaded : undefined
  }
}

/** A span that is open until `end`. */
export class TracedSpan {
  readonly context: TraceContext
  readonly #api: Api
  readonly #span: Span

  constructor(options: { api: Api; span: Span; context: Context }) {
    this.#api = options.api
    this.#span = options.span
    this.context = options.context
  }

  /** Runs the work with this span active, so that spans of other libraries become its children. */
  within<T>(work: () => T): T {
    return this.#api.context.with(this.context, work)
  }

  set(attributes: Attributes): void {
    ignoreErrors(() => this.#span.setAttributes(attributes))
  }

  /** Links this span to another one. */
  link(other: TraceContext): void {
    ignoreErrors(() => {
      const context = this.#api.trace.getSpanContext(other)
      if (context) this.#span.addLink({ context })
    })
  }

  fail({ type, message }: { type: string; message: string }): void {
    ignoreErrors(() => {
      this.#span.setAttribute("error.type", type)
      this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message })
    })
  }

  end(): void {
    ignoreErrors(() => this.#span.end())
  }
}

function ignoreErrors<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
