import { expect } from "vitest"
import { grownText, type HistoryItem, type Part, type StemmaEvent, withGrownText } from "../../src/index.ts"

/** The messages of a session in a client that reads only events. */
export class EventReplica {
  readonly #parts = new Map<string, Part[]>()
  readonly #sealed = new Set<string>()

  apply(event: StemmaEvent): void {
    switch (event.type) {
      case "message.updated": {
        const { info } = event.properties
        this.#partsOf(info.id)
        if (info.role === "user" || info.time.completed !== undefined) this.#sealed.add(info.id)
        return
      }
      case "message.removed":
        this.#parts.delete(event.properties.messageID)
        return
      case "message.part.updated": {
        const { part } = event.properties
        const parts = this.#partsOf(part.messageID)
        const index = parts.findIndex(({ id }) => id === part.id)
        if (index < 0) parts.push(part)
        else parts[index] = part
        return
      }
      case "message.part.removed": {
        const { messageID, partID } = event.properties
        const parts = this.#partsOf(messageID)
        parts.splice(this.#indexOf(parts, partID), 1)
        return
      }
      case "message.part.delta": {
        const { messageID, partID, offset, delta } = event.properties
        const parts = this.#partsOf(messageID)
        const index = this.#indexOf(parts, partID)
        const known = grownText(parts[index]!)
        if (known.length !== offset) throw new Error(`A delta at ${offset} came after ${known.length} units.`)
        parts[index] = withGrownText(parts[index]!, known + delta)
      }
    }
  }

  /** The text of all messages, joined. */
  get text(): string {
    return [...this.#parts.values()]
      .flat()
      .map((part) => (part.type === "text" || part.type === "reasoning" ? part.text : ""))
      .join("")
  }

  get parts(): Part[] {
    return [...this.#parts.values()].flat()
  }

  /** Fails unless every message that the events sealed equals the history's message, part by part. */
  compare(history: readonly HistoryItem[]): void {
    expect(this.#sealed.size).toBeGreaterThan(1)
    for (const id of this.#sealed) {
      const item = history.find(({ message }) => message.id === id)
      expect(this.#parts.get(id)).toEqual(item?.parts)
    }
  }

  #partsOf(messageID: string): Part[] {
    let parts = this.#parts.get(messageID)
    if (!parts) {
      parts = []
      this.#parts.set(messageID, parts)
    }
    return parts
  }

  #indexOf(parts: readonly Part[], partID: string): number {
    const index = parts.findIndex(({ id }) => id === partID)
    if (index < 0) throw new Error(`Part ${partID} was never in an event.`)
    return index
  }
}
