import { statSync } from "node:fs"
import { filesGone } from "./refusals.ts"

/** The files are looked at again when the last look is older than this. A look takes some microseconds. */
const lookEveryMs = 250

interface Identity {
  dev: bigint
  ino: bigint
}

/**
 * The files and directories that a store has opened. Deleting or replacing an open file does not fail later writes: they go to
 * a file without a name and are gone when the process ends. So a store looks whether its paths still lead to what it opened.
 */
export class OpenedFiles {
  readonly #paths: readonly string[]
  /** What each path led to when it was first seen. A path may appear later, such as that of the first blob. */
  readonly #opened = new Map<string, Identity>()
  #lookedMs = Number.NEGATIVE_INFINITY
  #gone: string | undefined

  constructor(paths: readonly string[]) {
    this.#paths = paths
    this.#gone = this.#look()
  }

  /** Throws `unavailable` if a path no longer leads to what was opened. Passes again once the file is back. */
  check(): void {
    const nowMs = performance.now()
    if (nowMs - this.#lookedMs >= lookEveryMs) {
      this.#lookedMs = nowMs
      this.#gone = this.#look()
    }
    if (this.#gone !== undefined) throw filesGone(this.#gone)
  }

  /** Called when a path may have appeared, such as that of the first blob: from then on it must stay. */
  remember(): void {
    if (this.#opened.size < this.#paths.length) this.#look()
  }

  #look(): string | undefined {
    for (const path of this.#paths) {
      const known = this.#opened.get(path)
      const found = identityOf(path)
      if (known === undefined && found) this.#opened.set(path, found)
      if (known && (found === undefined || found.ino !== known.ino || found.dev !== known.dev)) return path
    }
    return undefined
  }
}

/** Undefined if there is no such file. Numbers of 64 bits lose digits as `number`. */
function identityOf(path: string): Identity | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && { dev: found.dev, ino: found.ino }
}
