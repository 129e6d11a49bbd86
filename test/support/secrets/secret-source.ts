import { randomFrom } from "../seed.ts"

/** A secret inside a text. The secret is the part that a reader must not see. */
export interface Planted {
  text: string
  secret: string
}

const lower = "abcdefghijkmnopqrstuvwxyz"
const upper = "ABCDEFGHJKLMNPQRSTUVWXYZ"
const digits = "0123456789"

/** Makes secrets from a seed. No secret is stored in a file, so that no scanner takes one for real. */
export class SecretSource {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomFrom(seed)
  }

  below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  one<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  from(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet[this.below(alphabet.length)]).join("")
  }

  /** Letters of both cases and digits, at least one of each. */
  word(length: number): string {
    for (;;) {
      const text = this.from(lower + upper + digits, length)
      if (length < 8 || (/[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text))) return text
    }
  }

  hex(length: number): string {
    return this.from("0123456789abcdef", length)
  }

  /** Lower-case letters and digits. */
  small(length: number): string {
    return `${this.from(lower, 1)}${this.from(digits, 1)}${this.from(lower + digits, length - 2)}`
  }

  /** Upper-case letters and digits. */
  big(length: number): string {
    return `${this.from(upper, 1)}${this.from("234567", 1)}${this.from(`${upper}234567`, length - 2)}`
  }

  digits(length: number): string {
    return this.from(digits, length)
  }

  base64(bytes: number): string {
    return Buffer.from(Array.from({ length: bytes }, () => this.below(256))).toString("base64")
  }

  uuid(): string {
    return [8, 4, 4, 4, 12].map((length) => this.hex(length)).join("-")
  }

  /** A password as people choose it: words with digits and signs, or random characters. */
  password(): string {
    const first = this.one(["Winter", "falcon", "Orchid", "granite", "Pelican", "maple", "Tundra", "copper"])
    return this.one([
      () => `${first}${this.digits(4)}!`,
      () => `${first}-${this.one(["river", "Stone", "cloud"])}-${this.digits(2)}`,
      () => `${this.word(5)}#${this.word(4)}`,
      () => `${first.toLowerCase()}${this.digits(3)}`,
      () => this.word(12),
      () => `${this.from(lower, 3)}@${this.from(upper, 2)}${this.digits(3)}_${this.from(lower, 2)}`,
    ])()
  }

  /** A password without signs that shells and quotes treat specially. */
  plainPassword(): string {
    return this.one([
      () => `${this.one(["winter", "Falcon", "orchid", "Granite"])}${this.digits(4)}`,
      () => this.word(10),
    ])()
  }

  /** A password of letters only. */
  letters(): string {
    return this.one(["swordfish", "tinkerbell", "moonraker", "butterscotch", "ravenclaw", "peppermint"])
  }
}
