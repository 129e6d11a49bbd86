const stepUs = 10
const steps = 1_000_000

/** Times of up to ten seconds, counted in steps of 10 us, so that millions of them need little memory. */
export class Histogram {
  readonly #counts = new Uint32Array(steps)
  #total = 0

  add(us: number): void {
    this.#counts[Math.min(steps - 1, Math.max(0, Math.round(us / stepUs)))]!++
    this.#total++
  }

  /** In milliseconds. */
  percentileMs(share: number): number {
    let left = Math.floor(this.#total * share)
    for (const [step, count] of this.#counts.entries()) {
      if (count > left) return (step * stepUs) / 1000
      left -= count
    }
    return Number.NaN
  }
}
