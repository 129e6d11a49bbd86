import { type HistoryItem, StemmaError } from "../../protocol/index.ts"
import type { Engine } from "../engine.ts"
import { admitPrompt } from "../prompt/prompt.ts"
import type { Prompt } from "../step/step.ts"
import type { Coordinator } from "./coordinator.ts"
import { Limiter } from "./limiter.ts"
import { findAnswer } from "./waiters.ts"

/** What one session may ask of others: prompts that are answered, here or in another process, and aborts. */
export class Dispatch {
  readonly #engine: Engine
  readonly #coordinator: Coordinator
  /** By parent: how many of its children may work at once. */
  readonly #slots = new Map<string, { limiter: Limiter; users: number }>()
  /** Children that a task of this process has taken. */
  readonly #taken = new Set<string>()

  constructor(engine: Engine, coordinator: Coordinator) {
    this.#engine = engine
    this.#coordinator = coordinator
  }

  /** Admits a prompt; one that was sent before, under its own name, is the same prompt. */
  async admit(prompt: Prompt, options: { isNamed: boolean }): Promise<{ isDuplicate: boolean }> {
    const { store, tracing } = this.#engine
    const loading = tracing.prepare()
    if (loading) await loading
    tracing.keep(prompt.id)
    return admitPrompt(store, prompt, options)
  }

  /** The message that ends the answer to a prompt that was admitted. `isOld`: it was there before. */
  async answer(
    { id, sessionID }: { id: string; sessionID: string },
    { isDuplicate }: { isDuplicate: boolean },
  ): Promise<{ item: HistoryItem; isOld: boolean }> {
    const { store } = this.#engine
    const known = isDuplicate ? await findAnswer(store, sessionID, id) : undefined
    if (known) return { item: known, isOld: true }
    // Perhaps somebody goes on with it, perhaps it stays as it is.
    const cutOff = isDuplicate ? await findAnswer(store, sessionID, id, { isOver: true }) : undefined
    const answer = this.#coordinator.waiters.add(sessionID, id)
    this.#coordinator.wake(sessionID)
    const item = await answer
    return { item, isOld: item.message.id === cutOff?.message.id }
  }

  /** Whether a session has something to do, here or elsewhere. */
  async isBusy(sessionID: string): Promise<boolean> {
    if (this.#coordinator.isRunning(sessionID)) return true
    // In this order: a prompt that is taken in between is seen twice rather than never.
    if (await this.#isAwaited(sessionID)) return true
    return (await this.#isOpen(sessionID)) && this.#isHeld(sessionID)
  }

  /** Whether something waits to be taken. */
  async #isAwaited(sessionID: string): Promise<boolean> {
    const items = await this.#engine.store.inbox(sessionID)
    return items.some(({ type }) => type === "prompt" || type === "compact")
  }

  /** Whether its last message is still being written, or was when its process ended. */
  async #isOpen(sessionID: string): Promise<boolean> {
    const { items } = await this.#engine.store.history(sessionID, { limit: 1 })
    return items[0]?.sealed === false
  }

  /** Whether some process holds the session: what a dead one left open waits for nobody. */
  async #isHeld(sessionID: string): Promise<boolean> {
    const { store } = this.#engine
    try {
      await store.release(await store.claim(sessionID))
      return false
    } catch (error) {
      if (StemmaError.is(error, "conflict")) return true
      throw error
    }
  }

  /** Stops what a session does, here or in another process. Does nothing if it does nothing. */
  async abort(sessionID: string, reason: string): Promise<void> {
    if (this.#coordinator.abort(sessionID, reason)) return
    const { store, clock, newID } = this.#engine
    const isCompacting = (await store.session(sessionID)).time.compacting !== undefined
    const hasWork = isCompacting || (await this.#isAwaited(sessionID)) || (await this.#isOpen(sessionID))
    if (!hasWork) return
    await store.admit({ id: newID("part"), sessionID, type: "abort", time: clock.now(), reason })
  }

  /** The same for a session and everything below it, from the top: what is above begins nothing new below. */
  async abortTree(rootID: string, reason: string): Promise<void> {
    await this.abort(rootID, reason)
    for (const { id } of (await this.#engine.store.tree(rootID)).slice(1)) await this.abort(id, reason)
  }

  /** Takes a child for one task; false if another one has it. */
  take(childID: string): boolean {
    if (this.#taken.has(childID)) return false
    this.#taken.add(childID)
    return true
  }

  giveBack(childID: string): void {
    this.#taken.delete(childID)
  }

  /** Waits for a place among a parent's children; call the result to give it back. */
  async slot(
    parentID: string,
    { places, signal }: { places: number; signal: AbortSignal },
  ): Promise<() => void> {
    const slots = this.#slots.get(parentID) ?? { limiter: new Limiter(places), users: 0 }
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
