interface Waiting {
  order: number
  enter: () => void
}

/** Limits how many callers work at the same time. Callers with a lower `order` come first, then those that called first. */
export class Limiter {
  #free: number
  readonly #waiting: Waiting[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Resolves when a slot is free. The caller calls the returned function to free the slot. */
  async enter(order = 0): Promise<() => void> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((enter) => this.#add({ order, enter }))
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      const next = this.#waiting.shift()
      if (next) next.enter()
      else this.#free++
    }
  }

  #add(waiting: Waiting): void {
    const before = this.#waiting.findLastIndex(({ order }) => order <= waiting.order)
    this.#waiting.splice(before + 1, 0, waiting)
  }
}

/** A slot of a limiter that one caller frees and takes again. */
export class Place {
  readonly #limiter: Limiter
  #leave: (() => void) | undefined

  constructor(limiter: Limiter) {
    this.#limiter = limiter
  }

  /** Resolves when the caller has a slot. */
  async enter(order: number): Promise<void> {
    this.#leave ??= await this.#limiter.enter(order)
  }

  leave(): void {
    this.#leave?.()
    this.#leave = undefined
  }
}
