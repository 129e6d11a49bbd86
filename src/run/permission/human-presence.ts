import type { AskHandler } from "../engine.ts"

/**
 * Whether there is a person to ask. Without one, a question is refused at once; nobody waits for somebody who is not
 * there.
 */
export class HumanPresence {
  #count = 0
  readonly #handler: AskHandler | undefined

  constructor(options: { interactive?: boolean; handler?: AskHandler }) {
    this.#handler = options.handler
    if (options.interactive) this.#count = 1
  }

  get isListening(): boolean {
    return this.#count > 0 || this.#handler !== undefined
  }

  get handler(): AskHandler | undefined {
    return this.#handler
  }

  /** Says that a person is there until the result is disposed of. */
  add(): Disposable {
    this.#count++
    let isOver = false
    return {
      [Symbol.dispose]: () => {
        if (isOver) return
        isOver = true
        this.#count--
      },
    }
  }
}
