import type { EventBody } from "../wire/to-wire-event.ts"
import { eventText, globalText } from "../wire/to-wire-event.ts"
import type { SessionLocation } from "./session-locations.ts"

interface Reader {
  /** Every directory if absent. */
  directory?: string
  write: (text: string) => void
}

/**
 * The open event streams of OpenCode clients. They are told here what no event of the store tells: a prompt that waits in
 * the inbox, which is a message to these clients, and a note about a part.
 */
export class OpenReaders {
  readonly #readers = new Set<Reader>()

  get isEmpty(): boolean {
    return this.#readers.size === 0
  }

  /** Adds a stream until the result is disposed of. */
  add(reader: Reader): Disposable {
    this.#readers.add(reader)
    return { [Symbol.dispose]: () => this.#readers.delete(reader) }
  }

  send(location: SessionLocation, events: readonly EventBody[]): void {
    const message = (text: string) => `data: ${text}\n\n`
    for (const event of events) {
      const text = eventText(event)
      const wrapped = message(globalText(text, location))
      for (const { directory, write } of this.#readers) {
        if (directory === undefined) write(wrapped)
        else if (directory === location.directory) write(message(text))
      }
    }
  }
}
