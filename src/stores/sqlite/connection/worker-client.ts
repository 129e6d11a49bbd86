import { Worker } from "node:worker_threads"
import { type ErrorCode, StemmaError } from "../../../protocol/index.ts"
import { storeClosed } from "../../refusals.ts"
import type { WorkerRequests } from "./maintenance.ts"
import type { OpenOptions } from "./open.ts"
import type { WorkerReply, WorkerRequest } from "./worker.ts"

interface Pending {
  resolve(value: unknown): void
  reject(error: unknown): void
}

/**
 * Limits V8's young generation. With the default, the worker keeps 100 MB more memory after it indexed a long text, and
 * is not faster.
 */
const youngMB = 16

/**
 * A thread without a request for this long ends, which frees about 12 MB. Longer than the time after which an idle store
 * empties its log, so that no thread is started only for that.
 */
const defaultRestMs = 5000

/**
 * Sends requests to the worker thread. A request starts the thread if there is none. An idle worker does not keep the
 * process alive.
 */
export class WorkerClient {
  readonly #options: OpenOptions
  readonly #restMs: number
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #restTimer: NodeJS.Timeout | undefined
  /** Resolves when the threads that ended for lack of requests have closed their connections. */
  #ended: Promise<unknown> = Promise.resolve()
  #nextID = 1
  #closed = false

  constructor(options: OpenOptions, { restMs = defaultRestMs }: { restMs?: number } = {}) {
    this.#options = options
    this.#restMs = restMs
  }

  get started(): boolean {
    return this.#worker !== undefined
  }

  ask<Name extends keyof WorkerRequests>(
    name: Name,
    ...input: Parameters<WorkerRequests[Name]>
  ): Promise<ReturnType<WorkerRequests[Name]>> {
    if (this.#closed) return Promise.reject(storeClosed())
    const worker = this.#start()
    return new Promise((resolve, reject) => {
      const id = this.#nextID++
      this.#pending.set(id, { resolve: resolve as Pending["resolve"], reject })
      worker.ref()
      worker.postMessage({ id, name, input: input[0] } satisfies WorkerRequest)
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#restTimer)
    const worker = this.#worker
    worker?.ref()
    await Promise.all([this.#ended, worker && end(worker)])
  }

  #rest(): void {
    const worker = this.#worker
    if (worker === undefined || this.#pending.size > 0 || this.#closed) return
    this.#worker = undefined
    // `close` may wait for the end of the thread, so the process must stay alive for it.
    worker.ref()
    this.#ended = Promise.all([this.#ended, end(worker)])
  }

  #start(): Worker {
    if (this.#worker) return this.#worker
    const file = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js"
    const worker = new Worker(new URL(file, import.meta.url), {
      workerData: { ...this.#options, existing: true },
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: youngMB },
    })
    worker.on("message", (reply: WorkerReply) => this.#settle(worker, reply))
    worker.on("error", (error) => this.#fail(worker, error))
    worker.on("exit", () => this.#fail(worker, new Error("the thread ended")))
    this.#worker = worker
    return worker
  }

  #settle(worker: Worker, reply: WorkerReply): void {
    const pending = this.#pending.get(reply.id)
    this.#pending.delete(reply.id)
    if (this.#pending.size === 0 && !this.#closed) {
      worker.unref()
      clearTimeout(this.#restTimer)
      this.#restTimer = setTimeout(() => this.#rest(), this.#restMs).unref()
    }
    if (pending === undefined) return
    if ("value" in reply) {
      pending.resolve(reply.value)
      return
    }
    const { code, message, details } = reply.error
    pending.reject(
      new StemmaError(code as ErrorCode, message, { details: details as Record<string, unknown> }),
    )
  }

  /** Rejects all pending requests. The next request starts a new worker. */
  #fail(worker: Worker, cause: Error): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const pending of this.#pending.values()) {
      pending.reject(
        new StemmaError(
          "unavailable",
          `The worker thread of the store failed (${cause.message}). Try again.`,
          {
            cause,
          },
        ),
      )
    }
    this.#pending.clear()
  }
}

/** Tells a thread to close its connection, and resolves when the thread has ended. */
function end(worker: Worker): Promise<unknown> {
  const exited = new Promise((resolve) => worker.once("exit", resolve))
  worker.postMessage("close")
  return exited
}
