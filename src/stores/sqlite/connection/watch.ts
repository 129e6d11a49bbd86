import { type FSWatcher, watch } from "node:fs"
import type { Watched } from "../../store.ts"
import { tellAll } from "../../watchers.ts"

type Listener = (change: Watched) => void

const pollMs = 80

/**
 * Tells listeners of commits of this and of other processes. The write-ahead log's file is watched, since every commit
 * writes it; a slow poll covers file systems that do not report changes.
 */
export class Watching {
  readonly #walPath: string
  readonly #read: () => Watched | undefined
  readonly #listeners = new Set<Listener>()
  #scheduled = false
  #timer: NodeJS.Timeout | undefined
  #watcher: FSWatcher | undefined

  /** `read` gives what changed since it was last called. */
  constructor(walPath: string, read: () => Watched | undefined) {
    this.#walPath = walPath
    this.#read = read
  }

  add(listener: Listener): () => void {
    // A function of its own, so that the same listener may be added twice.
    const call = (change: Watched) => listener(change)
    if (this.#listeners.size === 0) this.#start()
    this.#listeners.add(call)
    return () => {
      this.#listeners.delete(call)
      if (this.#listeners.size === 0) this.close()
    }
  }

  /** Something was committed, here or elsewhere. */
  wake(): void {
    if (this.#scheduled || this.#listeners.size === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#pump()
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
    this.#timer = setInterval(() => this.#pump(), pollMs)
    this.#timer.unref()
    try {
      this.#watcher = watch(this.#walPath, { persistent: false }, () => this.wake())
      this.#watcher.on("error", () => this.#watcher?.close())
    } catch {
      // The poll alone is enough.
    }
  }

  #pump(): void {
    if (this.#listeners.size === 0) return
    const change = this.#read()
    if (change === undefined) return
    tellAll(this.#listeners, change)
  }
}
