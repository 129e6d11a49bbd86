import { type FSWatcher, watch } from "node:fs"
import type { Watched } from "../../store.ts"
import { notifyAll } from "../../watchers.ts"

type Listener = (change: Watched) => void

const pollMs = 80

/**
 * Notifies listeners of commits of this process and of other processes. Watches the write-ahead log file, because every
 * commit writes it. A slow poll covers file systems that do not report changes.
 */
export class CommitWatcher {
  readonly #walPath: string
  readonly #read: () => Watched | undefined
  readonly #listeners = new Set<Listener>()
  #scheduled = false
  #timer: NodeJS.Timeout | undefined
  #watcher: FSWatcher | undefined

  /** `read` returns the sessions that changed since its last call. */
  constructor(walPath: string, read: () => Watched | undefined) {
    this.#walPath = walPath
    this.#read = read
  }

  add(listener: Listener): () => void {
    // A wrapper, so that the same listener can be added twice.
    const call = (change: Watched) => listener(change)
    if (this.#listeners.size === 0) this.#start()
    this.#listeners.add(call)
    return () => {
      this.#listeners.delete(call)
      if (this.#listeners.size === 0) this.close()
    }
  }

  /** Schedules a check for new commits, once per event loop tick. */
  wake(): void {
    if (this.#scheduled || this.#listeners.size === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#notify()
    })
  }

  close(): void {
    this.#listeners.clear()
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#watcher?.close()
    this.#watcher = undefined
  }

  #start(): void {
    this.#read()
    this.#timer = setInterval(() => this.#notify(), pollMs)
    this.#timer.unref()
    try {
      this.#watcher = watch(this.#walPath, { persistent: false }, () => this.wake())
      this.#watcher.on("error", () => this.#watcher?.close())
    } catch {
      // The poll still finds commits.
    }
  }

  #notify(): void {
    if (this.#listeners.size === 0) return
    const change = this.#read()
    if (change === undefined) return
    notifyAll(this.#listeners, change)
  }
}
