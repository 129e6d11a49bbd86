import type { Attributes, Context, Span } from "@opentelemetry/api"
import { version } from "../../protocol/index.ts"

type Api = typeof import("@opentelemetry/api")

/** Where a span belongs: below another one, possibly of whoever sent the prompt. */
export type TraceContext = Context

/**
 * Every copy of the API in a process finds what was registered here: it is how the API itself looks. Asking the API would
 * mean to load it, which costs 10 ms, and most processes trace nothing.
 */
const registryKey = Symbol.for("opentelemetry.js.api.1")

function isRegistered(): boolean {
  const registry = (globalThis as { [key: symbol]: { trace?: unknown } | undefined })[registryKey]
  return registry?.trace !== undefined
}

/** So many prompts may wait with the context that they were sent in; the oldest are forgotten, not refused. */
const contextsMax = 1000

/**
 * Makes spans while a tracer provider is registered with `@opentelemetry/api`, and nothing otherwise: the API is loaded when
 * it is first needed. A provider that throws is no failure of a run.
 */
export class Tracing {
  /** Whether what is said, and what tools are given and give, may stand in spans. */
  readonly showsContent: boolean
  readonly #contexts = new Map<string, Context>()
  #loaded: Api | undefined
  #loading: Promise<void> | undefined

  constructor({ env }: { env: Record<string, string | undefined> }) {
    this.showsContent = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.toLowerCase() === "true"
  }

  /** To be awaited before spans are made, if there is anything to await. */
  prepare(): Promise<void> | undefined {
    if (this.#loaded || !isRegistered()) return undefined
    this.#loading ??= import("@opentelemetry/api").then(
      (api) => {
        this.#loaded = api
      },
      // Without it there are no spans.
      () => {},
    )
    return this.#loading
  }

  /** The span that is active where this is called. */
  active(): TraceContext | undefined {
    return quietly(() => this.#api?.context.active())
  }

  /** Remembers, in this process only, in which context a prompt was sent; the one where this is called if none is given. */
  keep(promptID: string, context: TraceContext | undefined = this.active()): void {
    if (!context || this.#contexts.has(promptID)) return
    this.#contexts.set(promptID, context)
    if (this.#contexts.size <= contextsMax) return
    const [oldest] = this.#contexts.keys()
    this.#contexts.delete(oldest!)
  }

  /** The context that a prompt was sent in; it is asked for once. */
  take(promptID: string): TraceContext | undefined {
    const context = this.#contexts.get(promptID)
    if (context) this.#contexts.delete(promptID)
    return context
  }

  /** Undefined while nobody traces. */
  start(
    name: string,
    options: { kind: "client" | "internal"; attributes: Attributes; parent: TraceContext | undefined },
  ): TracedSpan | undefined {
    const api = this.#api
    if (!api) return undefined
    return quietly(() => {
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

  /** Does the work with this span active, so that what others trace in it lies below. */
  within<T>(work: () => T): T {
    return this.#api.context.with(this.context, work)
  }

  set(attributes: Attributes): void {
    quietly(() => this.#span.setAttributes(attributes))
  }

  /** Says that another span has to do with it. */
  link(other: TraceContext): void {
    quietly(() => {
      const context = this.#api.trace.getSpanContext(other)
      if (context) this.#span.addLink({ context })
    })
  }

  fail({ type, message }: { type: string; message: string }): void {
    quietly(() => {
      this.#span.setAttribute("error.type", type)
      this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message })
    })
  }

  end(): void {
    quietly(() => this.#span.end())
  }
}

function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
