import { setImmediate } from "node:timers/promises"

/**
 * Lets so many through in one turn of the event loop: a thousand calls that begin at the same moment would make all their
 * requests before the first is sent.
 */
export class Turnstile {
  readonly #perTurn: number
  #passed = 0
  #turn: Promise<void> | undefined

  constructor(perTurn: number) {
    this.#perTurn = perTurn
  }

  async pass(): Promise<void> {
    while (this.#passed >= this.#perTurn) await this.#nextTurn()
    this.#passed++
    void this.#nextTurn()
  }

  #nextTurn(): Promise<void> {
    this.#turn ??= setImmediate().then(() => {
      this.#turn = undefined
      this.#passed = 0
    })
    return this.#turn
  }
}
