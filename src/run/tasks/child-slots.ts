import { Limiter } from "../schedule/limiter.ts"

/** Which children work for the tasks of this process, and how many children of one parent may work at the same time. */
export class ChildSlots {
  /** By parent; `users` counts the tasks that hold a slot or wait for one. */
  readonly #slots = new Map<string, { limiter: Limiter; users: number }>()
  readonly #taken = new Set<string>()

  /** Takes a child for one task; false if another task has it. */
  take(childID: string): boolean {
    if (this.#taken.has(childID)) return false
    this.#taken.add(childID)
    return true
  }

  giveBack(childID: string): void {
    this.#taken.delete(childID)
  }

  /** Waits for a free slot of a parent. The caller calls the returned function to give the slot back. */
  async enter(
    parentID: string,
    { slots: count, signal }: { slots: number; signal: AbortSignal },
  ): Promise<() => void> {
    const slots = this.#slots.get(parentID) ?? { limiter: new Limiter(count), users: 0 }
    this.#slots.set(parentID, slots)
    slots.users++
    const entering = slots.limiter.enter()
    const leave = () => {
      entering.then((give) => give()).catch(() => {})
      if (--slots.users === 0) this.#slots.delete(parentID)
    }
    const aborted = Promise.withResolvers<never>()
    aborted.promise.catch(() => {})
    const stop = () => aborted.reject(signal.reason)
    signal.addEventListener("abort", stop, { once: true })
    try {
      signal.throwIfAborted()
      await Promise.race([entering, aborted.promise])
      return leave
    } catch (error) {
      leave()
      throw error
    } finally {
      signal.removeEventListener("abort", stop)
    }
  }
}
