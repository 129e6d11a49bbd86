/** A task that several callers wait for. It is aborted when all of them have aborted. */
export class SharedWork<T> {
  readonly #abort = new AbortController()
  readonly #done: Promise<T>
  #waiting = 0

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#done = work(this.#abort.signal)
    this.#done.catch(() => {})
  }

  /** True if all callers aborted. A new caller needs a new task. */
  get isAborted(): boolean {
    return this.#abort.signal.aborted
  }

  /** The result of the task. Rejects with the signal's reason as soon as the signal is aborted. */
  async join(signal: AbortSignal | undefined): Promise<T> {
    this.#waiting++
    const stopped = Promise.withResolvers<never>()
    stopped.promise.catch(() => {})
    const stop = () => {
      if (--this.#waiting === 0) this.#abort.abort(signal!.reason)
      stopped.reject(signal!.reason)
    }
    if (signal?.aborted) stop()
    else signal?.addEventListener("abort", stop, { once: true })
    try {
      return await Promise.race([this.#done, stopped.promise])
    } finally {
      signal?.removeEventListener("abort", stop)
    }
  }
}
