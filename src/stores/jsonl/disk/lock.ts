import { linkSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { StemmaError } from "../../../protocol/index.ts"
import { currentHolder, isDead } from "../../holder.ts"
import type { Holder } from "../../store.ts"
import { errorCode, fileError } from "./files.ts"

const lockName = "lock"
/** `lock.own.<instance>` names a process; `lock` is a link to the file of the one that has the lock. */
const ownPrefix = "lock.own."
/** `lock.after.<instance>` is a link to the file of the one process that may take the lock of that dead one. */
const afterPrefix = "lock.after."

const waitMsMin = 1
const waitMsMax = 20

/**
 * One writer at a time among all processes that have the store open. Making a link fails if its name is there, so one
 * process wins. The lock of a dead process is replaced by the one process that won the link named after the dead one;
 * if that process dies too, the link named after it decides, and so on. Nobody else ever touches the lock of another.
 */
export class StoreLock {
  readonly #directory: string
  readonly #holder: Holder = currentHolder()
  #named = false

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Waits for the lock without blocking; `unavailable` after `timeoutMs`. True if it was taken from a dead process. */
  async acquire(options: { timeoutMs: number }): Promise<boolean> {
    const deadline = performance.now() + options.timeoutMs
    let waitMs = waitMsMin
    for (;;) {
      const got = this.#try()
      if (got !== undefined) return got === "taken over"
      if (performance.now() >= deadline) throw this.#tooLate(options.timeoutMs)
      await sleep(waitMs * (0.5 + Math.random()))
      waitMs = Math.min(waitMs * 2, waitMsMax)
    }
  }

  release(): void {
    this.#unlink(lockName)
  }

  /** Removes what this process, and processes that are dead, left in the directory. To be called under the lock. */
  sweep(): void {
    for (const name of readdirSync(this.#directory)) {
      if (!name.startsWith(ownPrefix) && !name.startsWith(afterPrefix)) continue
      const holder = this.#read(name)
      if (holder && isDead(holder, this.#holder)) this.#unlink(name)
    }
  }

  close(): void {
    this.#unlink(this.#ownName)
  }

  get #ownName(): string {
    return ownPrefix + this.#holder.instance
  }

  #try(): "free" | "taken over" | undefined {
    if (this.#link(lockName)) return "free"
    const present = this.#read(lockName)
    if (!present || !isDead(present, this.#holder)) return undefined
    return this.#takeOver(present) ? "taken over" : undefined
  }

  #takeOver(dead: Holder): boolean {
    let last = dead
    let name = afterPrefix + last.instance
    while (!this.#link(name)) {
      const winner = this.#read(name)
      if (!winner || !isDead(winner, this.#holder)) return false
      last = winner
      name = afterPrefix + last.instance
    }
    // Whoever is slow finds that the lock has been taken over before, or is free: then its link means nothing.
    if (this.#read(lockName)?.instance !== dead.instance) {
      this.#unlink(name)
      return false
    }
    try {
      renameSync(join(this.#directory, name), join(this.#directory, lockName))
    } catch (error) {
      throw fileError(error, join(this.#directory, lockName))
    }
    return true
  }

  #link(name: string): boolean {
    const own = join(this.#directory, this.#ownName)
    try {
      if (!this.#named) writeFileSync(own, JSON.stringify(this.#holder), { mode: 0o600 })
      this.#named = true
      linkSync(own, join(this.#directory, name))
      return true
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false
      // Somebody tidied up too much: the next try writes the file again.
      this.#named = false
      throw fileError(error, join(this.#directory, name))
    }
  }

  #read(name: string): Holder | undefined {
    try {
      const holder = JSON.parse(readFileSync(join(this.#directory, name), "utf8")) as Holder
      return typeof holder.pid === "number" && typeof holder.instance === "string" ? holder : undefined
    } catch {
      return undefined
    }
  }

  #unlink(name: string): void {
    try {
      unlinkSync(join(this.#directory, name))
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw fileError(error, join(this.#directory, name))
    }
  }

  #tooLate(timeoutMs: number): StemmaError {
    const holder = this.#read(lockName)
    const who = holder ? `process ${holder.pid} on ${holder.host}` : "another process"
    return new StemmaError(
      "unavailable",
      `The store was in use by ${who} for ${timeoutMs} ms. Try again; if that process is gone, remove the file ${lockName}.`,
      { details: { holder, directory: this.#directory } },
    )
  }
}
