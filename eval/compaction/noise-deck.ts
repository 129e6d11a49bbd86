import type { Draw } from "./draw.ts"
import { fill, type Values } from "./values.ts"

/** The chance that a sentence may occur a second time, as in real conversations. */
const repeatChance = 0.04

const choicePattern = /\[([^[\]]*\|[^[\]]*)\]/g

interface DeckOptions {
  templates: readonly string[]
  values: Values
}

/**
 * Draws noise sentences. Each template is used once before any is used again, each time with other words and values.
 */
export class NoiseDeck {
  readonly #templates: readonly string[]
  readonly #values: Values
  readonly #used = new Set<string>()
  #left: string[] = []

  constructor({ templates, values }: DeckOptions) {
    this.#templates = templates
    this.#values = values
  }

  next(): string {
    const { draw } = this.#values
    for (;;) {
      if (this.#left.length === 0) this.#left = draw.shuffled(this.#templates)
      const text = noiseText(this.#left.pop()!, this.#values)
      const key = text.toLowerCase()
      if (this.#used.has(key) && !draw.chance(repeatChance)) continue
      this.#used.add(key)
      return text
    }
  }
}

/** Fills the slots of a template and chooses one alternative of each `[this|that]`; an alternative may be empty. */
export function noiseText(template: string, values: Values): string {
  return fill(chosen(template, values.draw), { values, slots: new Map() }).replace(/ {2,}/g, " ").trim()
}

function chosen(template: string, draw: Draw): string {
  const text = template.replace(choicePattern, (_, choices: string) => draw.one(choices.split("|")))
  return text === template ? text : chosen(text, draw)
}
