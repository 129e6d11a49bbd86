import { featurePlaces, featuresOf } from "./sentence-features.ts"

/** A linear model as `npm run train:sentences` writes it. */
export interface SentenceWeights {
  bias: number
  /** The factor that turns a stored weight into its value. */
  unit: number
  /**
   * Base64 of the nonzero weights in order of index: the distance to the index before, seven bits to a byte, and the
   * weight.
   */
  weights: string
}

/** Gives the probability that a sentence belongs to the class that the model was trained to find. */
export class SentenceModel {
  readonly #given: SentenceWeights
  #table: Int8Array | undefined

  constructor(given: SentenceWeights) {
    this.#given = given
  }

  /** The probability, 0 to 1. */
  chance(sentence: string): number {
    const { bias, unit } = this.#given
    this.#table ??= unpackWeights(this.#given.weights)
    const places = featuresOf(sentence)
    let sum = 0
    for (const place of places) sum += this.#table[place]!
    return 1 / (1 + Math.exp(-bias - (sum * unit) / Math.sqrt(places.length)))
  }
}

export function packWeights(table: Int8Array): string {
  const bytes: number[] = []
  let last = 0
  for (const [place, weight] of table.entries()) {
    if (weight === 0) continue
    let distance = place - last
    for (; distance > 127; distance = Math.floor(distance / 128)) bytes.push((distance % 128) + 128)
    bytes.push(distance, weight & 255)
    last = place
  }
  return btoa(bytes.map((byte) => String.fromCharCode(byte)).join(""))
}

export function unpackWeights(packed: string): Int8Array {
  const table = new Int8Array(featurePlaces)
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0))
  let place = 0
  for (let at = 0; at < bytes.length; ) {
    let distance = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++]!
      distance += (byte & 127) * factor
      if (byte < 128) break
    }
    place += distance
    // The Int8Array turns a byte above 127 into a negative weight.
    table[place] = bytes[at++]!
  }
  return table
}
