import type { Stemma } from "../run/index.ts"

/** A client that drops comes back soon, and one that polls asks again. */
const lingerMs = 60_000

/**
 * Whether a person is there to answer questions: while somebody listens to sessions, or has just looked for questions.
 * Without anybody a question is refused, since nobody waits for somebody who is not there.
 */
export class Presence {
  readonly #stemma: Stemma
  readonly #fixed: boolean | undefined
  #listeners = 0
  #present: Disposable | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(stemma: Stemma, interactive: boolean | undefined) {
    this.#stemma = stemma
    this.#fixed = interactive
    if (interactive) this.#present = stemma.permissions.listen()
  }

  /** Somebody listens until the result is disposed of. */
  enter(): Disposable {
    this.#listeners++
    this.#come()
    let isOver = false
    return {
      [Symbol.dispose]: () => {
        if (isOver) return
        isOver = true
        this.#listeners--
        this.#linger()
      },
    }
  }

  /** Somebody looked for questions. */
  show(): void {
    this.#come()
    this.#linger()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#present?.[Symbol.dispose]()
    this.#present = undefined
  }

  #come(): void {
    clearTimeout(this.#timer)
    if (this.#fixed === undefined) this.#present ??= this.#stemma.permissions.listen()
  }

  #linger(): void {
    clearTimeout(this.#timer)
    if (this.#fixed !== undefined || this.#listeners > 0) return
    this.#timer = setTimeout(() => this.close(), lingerMs).unref()
  }
}
