import { AsyncLocalStorage } from "node:async_hooks"
import { type Context, type ContextManager, context, ROOT_CONTEXT, trace } from "@opentelemetry/api"
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base"

/** What is traced until its scope ends, by the SDK of OpenTelemetry, in memory. */
export interface Traces extends Disposable {
  /** Those that have ended, in that order. */
  readonly ended: ReadableSpan[]
  /** How many have begun and not ended. */
  readonly open: number
  named(name: string): ReadableSpan[]
  /** Each span that has ended as `name < parent < ...`, sorted. */
  lines(): string[]
  /** Everything that the spans say, as one text. */
  text(): string
}

/** `contexts`: what is active follows what is awaited, as in most programs that trace. */
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
