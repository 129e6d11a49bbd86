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
 * Sends requests to the worker thread. The first request starts the thread. An idle worker does not keep the process
 * alive.
 */
export class WorkerClient {
  readonly #options: OpenOptions
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #nextID = 1
  #closed = false

  constructor(options: OpenOptions) {
    this.#options = options
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
    const worker = this.#worker
    if (worker === undefined) return
    const exited = new Promise((resolve) => worker.once("exit", resolve))
    worker.ref()
    worker.postMessage("close")
    await exited
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
    if (this.#pending.size === 0 && !this.#closed) worker.unref()
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
    if (this.#worker === worker) this.#worker = undefined
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
