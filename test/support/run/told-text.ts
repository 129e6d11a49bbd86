import type { Part, StemmaEvent, Store } from "../../../src/index.ts"
import { growingField, grownText } from "../../../src/session/replica/grow.ts"

/** The growing text of one part as a subscriber received it: how long it was, and when. */
interface ToldPart {
  sessionID: string
  messageID: string
  text: string
  told: { length: number; atMs: number }[]
}

/** Records the growing text of parts, streamed text and printed output, with the times at which it arrived. */
export class ToldText {
  readonly parts = new Map<string, ToldPart>()

  take(event: StemmaEvent): void {
    if (event.type === "message.part.updated") this.#update(event.properties.part)
    if (event.type !== "message.part.delta") return
    const { partID, offset, delta } = event.properties
    const part = this.parts.get(partID)
    if (!part) return
    if (offset !== part.text.length) throw new Error(`Text at ${offset} came after ${part.text.length}.`)
    this.#grow(part, part.text + delta)
  }

  /** Text that was received up to a moment and that the store does not have, one line for each part. */
  async lost(store: Store, untilMs: number): Promise<string[]> {
    const lines: string[] = []
    for (const { partID, part, stored } of await this.#compared(store)) {
      const length = part.told.findLast(({ atMs }) => atMs <= untilMs)?.length ?? 0
      const first = part.told.find((told) => told.length > stored.length)
      if (stored.startsWith(part.text.slice(0, length))) continue
      const ageMs = Math.round(untilMs - (first?.atMs ?? untilMs))
      lines.push(`${partID}: ${length} told, ${stored.length} stored; ${ageMs} ms older than the limit`)
    }
    return lines
  }

  /** For each part with lost text: the time from the arrival of its first lost text to that of its last. */
  async lostSpansMs(store: Store): Promise<number[]> {
    return (await this.#compared(store)).flatMap(({ part, stored }) => {
      const first = part.told.find(({ length }) => length > stored.length)
      return first ? [part.told.at(-1)!.atMs - first.atMs] : []
    })
  }

  async #compared(store: Store): Promise<{ partID: string; part: ToldPart; stored: string }[]> {
    const found = []
    for (const [partID, part] of this.parts) {
      const [item] = (await store.history(part.sessionID, { messageID: part.messageID })).items
      const kept = item?.parts.find(({ id }) => id === partID)
      found.push({ partID, part, stored: kept ? grownText(kept) : "" })
    }
    return found
  }

  #update(part: Part): void {
    const field = growingField(part)
    if (field !== "text" && field !== "output") return
    const known = this.parts.get(part.id)
    const { sessionID, messageID } = part
    const grown = known ?? { sessionID, messageID, text: "", told: [] }
    this.parts.set(part.id, grown)
    this.#grow(grown, grownText(part))
  }

  #grow(part: ToldPart, text: string): void {
    part.text = text
    part.told.push({ length: text.length, atMs: performance.now() })
  }
}
