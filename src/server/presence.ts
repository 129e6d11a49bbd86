import type { Stemma } from "../run/index.ts"

/** A client that lost its connection comes back within this time, and a polling client asks again. */
const lingerMs = 60_000

/**
 * Whether a person is there to answer questions: true while a client is subscribed to sessions, or has recently
 * requested the open questions. Without a person, a question is refused at once instead of waiting.
 */
export class Presence {
  readonly #stemma: Stemma
  readonly #fixed: boolean | undefined
  #viewers = 0
  #present: Disposable | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(stemma: Stemma, interactive: boolean | undefined) {
    this.#stemma = stemma
    this.#fixed = interactive
    if (interactive) this.#present = stemma.permissions.listen()
  }

  /** A person is present until the result is disposed of. */
  enter(): Disposable {
    this.#viewers++
    this.#setPresent()
    let isOver = false
    return {
      [Symbol.dispose]: () => {
        if (isOver) return
        isOver = true
        this.#viewers--
        this.#leaveLater()
      },
    }
  }

  /** A client has requested the open questions. */
  touch(): void {
    this.#setPresent()
    this.#leaveLater()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#present?.[Symbol.dispose]()
    this.#present = undefined
  }

  #setPresent(): void {
    clearTimeout(this.#timer)
    if (this.#fixed === undefined) this.#present ??= this.#stemma.permissions.listen()
  }

  #leaveLater(): void {
    clearTimeout(this.#timer)
    if (this.#fixed !== undefined || this.#viewers > 0) return
    this.#timer = setTimeout(() => this.close(), lingerMs).unref()
  }
}
