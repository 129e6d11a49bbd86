import { type Random, seededRandom } from "../../bench/store/random.ts"

/** A random generator with a seed. */
export class Draw {
  readonly random: Random

  constructor(seed: number) {
    this.random = seededRandom(seed)
  }

  /** A whole number between the two, both included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1))
  }

  chance(share: number): boolean {
    return this.random() < share
  }

  one<T>(values: readonly T[]): T {
    return values[Math.floor(this.random() * values.length)]!
  }

  some<T>(values: readonly T[], count: number): T[] {
    return this.shuffled(values).slice(0, count)
  }

  shuffled<T>(values: readonly T[]): T[] {
    const list = [...values]
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.int(0, i)
      ;[list[i], list[j]] = [list[j]!, list[i]!]
    }
    return list
  }

  hex(length: number): string {
    return Array.from({ length }, () => this.int(0, 15).toString(16)).join("")
  }
}
