import type { Draw } from "./draw.ts"
import { fill, type Values } from "./values.ts"

/** People do say some things twice. */
const saidAgain = 0.04

const choicePattern = /\[([^[\]]*\|[^[\]]*)\]/g

interface DeckOptions {
  templates: readonly string[]
  values: Values
}

/** Deals out noise: every template before one comes again, each time with other words and values. */
export class NoiseDeck {
  readonly #templates: readonly string[]
  readonly #values: Values
  readonly #said = new Set<string>()
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
      if (this.#said.has(key) && !draw.chance(saidAgain)) continue
      this.#said.add(key)
      return text
    }
  }
}

/** A template with its slots filled and one of each `[this|that]` taken; an alternative may be empty. */
export function noiseText(template: string, values: Values): string {
  return fill(chosen(template, values.draw), { values, slots: new Map() }).replace(/ {2,}/g, " ").trim()
}

function chosen(template: string, draw: Draw): string {
  const text = template.replace(choicePattern, (_, choices: string) => draw.one(choices.split("|")))
  return text === template ? text : chosen(text, draw)
}
