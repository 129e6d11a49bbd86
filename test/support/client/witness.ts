import type { Replica } from "../../../src/client/index.ts"
import { grownText, type HistoryItem, type Store } from "../../../src/index.ts"
import { comparable, difference } from "../answers.ts"

/** Checks a replica after each change, and records states that are never allowed. */
export class Witness {
  readonly problems: string[] = []
  looks = 0
  /** Sealed messages as they were first shown. */
  readonly #sealed = new Map<string, HistoryItem>()
  /** The longest text that was shown of each growing part. */
  readonly #texts = new Map<string, string>()
  readonly #replica: Replica
  readonly #name: string

  constructor(name: string, replica: Replica) {
    this.#name = name
    this.#replica = replica
    replica.subscribe(() => this.#look())
  }

  #look(): void {
    this.looks++
    let position = -1
    for (const item of this.#replica.messages()) {
      if (item.position <= position) this.#say(`position ${item.position} comes after ${position}`)
      position = item.position
      if (item.sealed && !this.#sealed.has(item.message.id)) this.#sealed.set(item.message.id, item)
      if (!item.sealed) this.#lookAtOpen(item)
    }
  }

  /** Text only grows, or returns to the committed text. */
  #lookAtOpen({ parts }: HistoryItem): void {
    for (const part of parts) {
      const text = grownText(part)
      if (text === "") continue
      const key = part.type === "tool" ? `${part.id} ${part.state.status}` : part.id
      const before = this.#texts.get(key) ?? ""
      if (!text.startsWith(before) && !before.startsWith(text)) {
        this.#say(`part ${part.id} shows ${JSON.stringify(text)} after ${JSON.stringify(before)}`)
      }
      if (text.length > before.length) this.#texts.set(key, text)
    }
  }

  /** A message that was shown as sealed equals the stored message, and growing text agrees with the stored text. */
  async check(store: Store, sessionID: string): Promise<void> {
    const { items } = await store.history(sessionID, { take: "start", limit: 1000 })
    for (const { message, parts } of items) {
      const shown = this.#sealed.get(message.id)
      const found =
        shown &&
        difference(comparable({ message, parts }), comparable({ message: shown.message, parts: shown.parts }))
      if (found) this.#say(`${message.id} was shown as sealed, and not as it is: ${found}`)
      for (const part of parts) {
        if (part.type !== "text" && part.type !== "reasoning") continue
        const text = this.#texts.get(part.id) ?? ""
        if (!part.text.startsWith(text) && !text.startsWith(part.text)) {
          this.#say(
            `part ${part.id} is ${JSON.stringify(part.text)} and was shown as ${JSON.stringify(text)}`,
          )
        }
      }
    }
    if (this.problems.length > 0) throw new Error(this.problems.slice(0, 5).join("\n"))
  }

  #say(problem: string): void {
    this.problems.push(`${this.#name}: ${problem}`)
  }
}
