import type { EventStream } from "../../../src/client/index.ts"
import type { Store } from "../../../src/index.ts"
import { EventReplica } from "../fault-event-replica.ts"
import { until } from "../run-scene.ts"

/** Puts parts by id and concatenates text, and knows nothing but the events of a stream. */
export class EventReader implements Disposable {
  readonly #events: EventStream
  readonly #replica = new EventReplica()
  #failure: unknown

  constructor(events: EventStream) {
    this.#events = events
    this.#read().catch((error) => {
      this.#failure = error
    })
  }

  /** Fails unless it comes to have every message that it heard of to its end as the store has it. */
  async check(store: Store, sessionID: string): Promise<void> {
    const { items } = await store.history(sessionID, { take: "start", limit: 1000 })
    // There is nothing to compare where hardly anything was said.
    if (items.filter(({ message }) => message.role === "assistant").length < 2) return
    let why: unknown
    const isSame = () => {
      try {
        this.#replica.compare(items)
        return true
      } catch (error) {
        why = error
        return this.#failure !== undefined
      }
    }
    await until("the events say the same", isSame).catch(() => {
      throw new Error("What the events say is not what the store has.", { cause: why })
    })
    if (this.#failure !== undefined) throw this.#failure
  }

  [Symbol.dispose](): void {
    this.#events.close()
  }

  async #read(): Promise<void> {
    for await (const event of this.#events) this.#replica.apply(event)
  }
}
