import { AsyncLocalStorage } from "node:async_hooks"
import { type Context, type ContextManager, context, ROOT_CONTEXT, trace } from "@opentelemetry/api"
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base"

/** Records spans in memory with the OpenTelemetry SDK until its scope ends. */
export interface Traces extends Disposable {
  /** The spans that have ended, in the order of their ends. */
  readonly ended: ReadableSpan[]
  /** How many spans have begun and not ended. */
  readonly open: number
  named(name: string): ReadableSpan[]
  /** Each ended span as `name < parent < ...`, sorted. */
  lines(): string[]
  /** All texts of the spans, as one text. */
  text(): string
}

/** `contexts`: the active context follows async calls, as in most programs that trace. */
export function startTraces({ contexts } = { contexts: true }): Traces {
  const exporter = new InMemorySpanExporter()
  let open = 0
  const counting = {
    onStart: () => void open++,
    onEnd: () => void open--,
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter), counting] })
  trace.setGlobalTracerProvider(provider)
  if (contexts) context.setGlobalContextManager(new LocalContexts())
  const ended = () => exporter.getFinishedSpans()
  const parentOf = ({ parentSpanContext }: ReadableSpan) =>
    ended().find((span) => span.spanContext().spanId === parentSpanContext?.spanId)
  const line = (span: ReadableSpan): string => {
    const parent = parentOf(span)
    return parent ? `${span.name} < ${line(parent)}` : span.name
  }
  return {
    get ended() {
      return ended()
    },
    get open() {
      return open
    },
    named: (name) => ended().filter((span) => span.name === name),
    lines: () => ended().map(line).sort(),
    text: () =>
      JSON.stringify(
        ended().map(({ name, attributes, status, events }) => ({ name, attributes, status, events })),
      ),
    [Symbol.dispose]() {
      trace.disable()
      context.disable()
    },
  }
}

class LocalContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    work: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(active, () => work.apply(thisArg as never, args))
  }

  bind<T>(_: Context, target: T): T {
    return target
  }

  enable(): this {
    return this
  }

  disable(): this {
    this.#storage.disable()
    return this
  }
}
