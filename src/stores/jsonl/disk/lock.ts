import { linkSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseJson, StemmaError } from "../../../protocol/index.ts"
import { currentHolder, isDead } from "../../holder.ts"
import type { Holder } from "../../store.ts"
import { errorCode, fileError } from "./files.ts"

const lockName = "lock"
/** `lock.own.<instance>` describes a process. `lock` is a hard link to the file of the process that holds the lock. */
const ownPrefix = "lock.own."
/**
 * `lock.after.<instance>` is a hard link to the file of the process that may take over the lock of that dead instance.
 */
const afterPrefix = "lock.after."

const waitMsMin = 1
const waitMsMax = 20

/**
 * A lock between all processes that have the store open. Creating a hard link fails if the name exists, so exactly one
 * process wins. To take over the lock of a dead process, a process must win the link named after the dead instance; if
 * the winner dies too, the link named after the winner decides, and so on. No process ever changes the lock of a live
 * process.
 */
export class StoreLock {
  readonly #directory: string
  readonly #holder: Holder = currentHolder()
  #named = false

  constructor(directory: string) {
    this.#directory = directory
  }

  /**
   * Waits for the lock without blocking the event loop. Returns true if the lock was taken over from a dead process.
   * `unavailable` after `timeoutMs`.
   */
  async acquire(options: { timeoutMs: number }): Promise<boolean> {
    const deadline = performance.now() + options.timeoutMs
    let waitMs = waitMsMin
    for (;;) {
      const got = this.#try()
      if (got !== undefined) return got === "taken over"
      if (performance.now() >= deadline) throw this.#timeoutError(options.timeoutMs)
      await sleep(waitMs * (0.5 + Math.random()))
      waitMs = Math.min(waitMs * 2, waitMsMax)
    }
  }

  release(): void {
    this.#unlink(lockName)
  }

  /** Removes the files of dead processes from the directory. Must be called under the lock. */
  sweep(): void {
    for (const name of readdirSync(this.#directory)) {
      if (!name.startsWith(ownPrefix) && !name.startsWith(afterPrefix)) continue
      const holder = this.#read(name)
      if (holder && isDead(holder, this.#holder)) this.#unlink(name)
    }
  }

  /** Removes the file of this process. The lock must not be held. */
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
    // Another process may have taken over or released the lock meanwhile. Then this link is void.
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
      // The file of this process may have been deleted. The next attempt writes it again.
      this.#named = false
      throw fileError(error, join(this.#directory, name))
    }
  }

  #read(name: string): Holder | undefined {
    try {
      const holder = parseJson(readFileSync(join(this.#directory, name), "utf8")) as Holder
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

  #timeoutError(timeoutMs: number): StemmaError {
    const holder = this.#read(lockName)
    const who = holder ? `process ${holder.pid} on ${holder.host}` : "another process"
    return new StemmaError(
      "unavailable",
      `The store was locked by ${who} for ${timeoutMs} ms. Try again; if that process does not exist, remove the file ${lockName} in ${this.#directory}.`,
      { details: { holder, directory: this.#directory } },
    )
  }
}
