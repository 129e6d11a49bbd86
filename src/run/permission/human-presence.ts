import type { AskHandler } from "../engine.ts"

/** Counts the persons who can answer a permission question. Without any, a question is refused at once. */
export class HumanPresence {
  #count = 0
  readonly #handler: AskHandler | undefined

  constructor(options: { interactive?: boolean; handler?: AskHandler }) {
    this.#handler = options.handler
    if (options.interactive) this.#count = 1
  }

  get isPresent(): boolean {
    return this.#count > 0 || this.#handler !== undefined
  }

  get handler(): AskHandler | undefined {
    return this.#handler
  }

  /** Counts a person as present until the result is disposed. */
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
