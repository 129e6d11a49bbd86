import type { Watched } from "./store.ts"

/**
 * Calls every listener with its own copy. An error of a listener is reported as a warning, and the others are still
 * called.
 */
export function tellAll(listeners: Iterable<(change: Watched) => void>, change: Watched): void {
  for (const listener of [...listeners]) {
    try {
      listener({ ...change, sessions: [...change.sessions] })
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : new Error(String(error)))
    }
  }
}

/** Calls listeners once after an event loop tick, for all changes of that tick. */
export class Watchers {
  readonly #listeners = new Set<(change: Watched) => void>()
  readonly #sessions = new Set<string>()
  #cursor: string | undefined

  get size(): number {
    return this.#listeners.size
  }

  add(listener: (change: Watched) => void): () => void {
    // A new function for each call, so that the same listener may be added twice.
    const call = (change: Watched) => listener(change)
    this.#listeners.add(call)
    return () => {
      this.#listeners.delete(call)
    }
  }

  tell(cursor: string, sessions: Iterable<string>): void {
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
    tellAll(this.#listeners, { cursor, sessions })
  }
}
