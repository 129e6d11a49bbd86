import type { EventStream } from "../../../src/client/index.ts"
import type { Store } from "../../../src/index.ts"
import { EventReplica } from "../fault-event-replica.ts"
import { until } from "../run-scene.ts"

/** A client that stores parts by id and appends deltas, and reads nothing but the events of a stream. */
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

  /** Fails unless every message that the events sealed becomes equal to the stored message. */
  async check(store: Store, sessionID: string): Promise<void> {
    const { items } = await store.history(sessionID, { take: "start", limit: 1000 })
    // A history with fewer than two answers has too little to compare.
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
