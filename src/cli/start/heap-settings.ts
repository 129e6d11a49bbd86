import { setFlagsFromString } from "node:v8"
import { keepHeapSmall } from "../heap.ts"

/** A process that lives longer than this is more than a start. */
const startMs = 3000

/**
 * V8's settings of the built program. During the start, its space for new objects stays small: nearly all objects that a
 * start creates stay alive; V8 would grow that space because of them, by up to 14 MB, and gain no time. A server keeps its
 * whole heap small from then on.
 */
export class HeapSettings {
  #phase: "start" | "standard" | "server" = "start"

  constructor() {
    this.#apply()
    setTimeout(() => {
      if (this.#phase === "start") this.endStart({ isServer: false })
    }, startMs).unref()
  }

  endStart({ isServer }: { isServer: boolean }): void {
    this.#phase = isServer ? "server" : "standard"
    this.#apply()
  }

  /** V8 takes compiled code only if all its flags are as they were, so it is read and written with the standard flags. */
  withStandardFlags<T>(work: () => T): T {
    if (this.#phase === "server") setFlagsFromString("--heap-growing-percent=0 --maglev")
    setFlagsFromString("--semi-space-growth-factor=2")
    try {
      return work()
    } finally {
      this.#apply()
    }
  }

  #apply(): void {
    if (this.#phase === "server") keepHeapSmall()
    else setFlagsFromString(`--semi-space-growth-factor=${this.#phase === "start" ? 1 : 2}`)
  }
}
