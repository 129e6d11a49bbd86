import type { Watched } from "./store.ts"

/**
 * Calls every listener with its own copy of the change. An error of a listener becomes a process warning and does not
 * affect the other listeners.
 */
export function notifyAll(listeners: Iterable<(change: Watched) => void>, change: Watched): void {
  for (const listener of [...listeners]) {
    try {
      listener({ ...change, sessions: [...change.sessions] })
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : new Error(String(error)))
    }
  }
}

/** Calls the listeners of `Store.watch` at the end of the event loop tick, once for all changes in the tick. */
export class Watchers {
  readonly #listeners = new Set<(change: Watched) => void>()
  readonly #sessions = new Set<string>()
  #cursor: string | undefined

  get size(): number {
    return this.#listeners.size
  }

  add(listener: (change: Watched) => void): () => void {
    // A wrapper, so that the same listener can be added twice.
    const call = (change: Watched) => listener(change)
    this.#listeners.add(call)
    return () => {
      this.#listeners.delete(call)
    }
  }

  /** Records that these sessions changed and schedules the call of the listeners. */
  notify(cursor: string, sessions: Iterable<string>): void {
    if (this.#listeners.size === 0) return
    for (const id of sessions) this.#sessions.add(id)
    if (this.#sessions.size === 0) return
    if (this.#cursor === undefined) setImmediate(() => this.#call())
    this.#cursor = cursor
  }

  clear(): void {
    this.#listeners.clear()
  }

  #call(): void {
    const cursor = this.#cursor
    const sessions = [...this.#sessions]
    this.#cursor = undefined
    this.#sessions.clear()
    if (cursor === undefined) return
    notifyAll(this.#listeners, { cursor, sessions })
  }
}
