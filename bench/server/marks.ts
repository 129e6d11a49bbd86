/** The system's monotonic clock in microseconds, which all processes share. */
export function systemUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** A delta's text: its number and the time when the model wrote it. */
export function markText(index: number, atUs: number): string {
  return `${index}@${atUs} `
}

/** True for text that begins with a mark, which a prompt does not. */
export function isMarked(text: string): boolean {
  return /^\d+@/.test(text)
}

const [zero, at, space] = [48, 64, 32]

/** Reads marks from text as it arrives, split anywhere. Throws at the first mark that is not the next. */
export class MarkReader {
  /** How many marks were read: the index of the next. */
  count = 0
  /** When the first and the newest mark were written. */
  firstUs = 0
  lastUs = 0
  #number = 0
  #index = -1

  /** Calls `see` with the time at which each mark was written. */
  take(text: string, see: (writtenUs: number) => void): void {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code === at) {
        this.#index = this.#number
        this.#number = 0
      } else if (code === space) {
        if (this.#index !== this.count) throw new Error(`Mark ${this.#index} came instead of ${this.count}.`)
        if (this.count === 0) this.firstUs = this.#number
        this.lastUs = this.#number
        this.count++
        see(this.#number)
        this.#index = -1
        this.#number = 0
      } else this.#number = this.#number * 10 + code - zero
    }
  }
}
