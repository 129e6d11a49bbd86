import type { HistoryItem, Part } from "../../../src/index.ts"

/** Unique words that are planted in a history, to see where they appear. */
export class Marks {
  #next = 0

  plant(): string {
    return `MARK${String(this.#next++).padStart(5, "0")}`
  }
}

export function marksIn(value: unknown): Set<string> {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return new Set(text.match(/MARK\d{5}/g) ?? [])
}

/** The marks in prompts and answers, without compactions, which only repeat them. */
export function marksOfItems(items: readonly HistoryItem[]): Set<string> {
  return marksIn(items.map(({ parts }) => marksOfParts(parts)).join())
}

export function marksOfParts(parts: readonly Part[]): string {
  return JSON.stringify(parts.filter(({ type }) => type !== "compaction"))
}

/** A meaningless text of about this many tokens. */
export function filler(tokens: number): string {
  return "plain words that say nothing at all ".repeat(Math.max(0, Math.ceil(tokens / 7)))
}
