import { type Half, halves, type Kind, kinds, type Language, languages } from "./phrasings/phrasing.ts"

/** The share of the planted facts that a ledger must keep. */
export const targets: Record<Half, number> = { open: 0.95, "held-out": 0.9 }

export interface Count {
  kept: number
  due: number
}

export interface Row {
  half: Half
  /** Absent in rows that sum up several kinds. */
  kind?: Kind
  language?: Language
  /** By cycle. */
  counts: Count[]
  /** Whether the target is met; set in the rows that have one. */
  ok?: boolean
}

export interface Spent {
  half: Half
  cycle: number
  ledgerTokens: number
  budgetTokens: number
  /** The ledger by a real tokenizer; printed, not judged. */
  o200kTokens: number
  historyTokens: number
  /** Closed todos that the ledger lists as open, of all that are closed. */
  stale: number
  over: number
}

/** Counts the kept facts after each compaction. */
export class Recall {
  readonly #counts = new Map<string, Count>()
  readonly spent: Spent[] = []
  readonly cycles: number

  constructor(cycles: number) {
    this.cycles = cycles
  }

  add(place: { half: Half; language: Language; kind: Kind; cycle: number }, isKept: boolean): void {
    const key = keyOf(place)
    const count = this.#counts.get(key) ?? { kept: 0, due: 0 }
    this.#counts.set(key, { kept: count.kept + (isKept ? 1 : 0), due: count.due + 1 })
  }

  /** Rows for each half: each kind and language, then each language, then the whole half, which has the target. */
  rows(): Row[] {
    return halves.flatMap((half) => {
      const rows: Row[] = kinds.flatMap((kind) =>
        languages.map((language) => this.#row({ half, kind, language })),
      )
      rows.push(...languages.map((language) => this.#row({ half, language })))
      const all = this.#row({ half })
      const ok = all.counts.every(({ kept, due }) => due === 0 || kept / due >= targets[half])
      return all.counts.some(({ due }) => due > 0) ? [...rows.filter(isUsed), { ...all, ok }] : []
    })
  }

  /** True if every ledger stayed within its budget. */
  get isWithinBudget(): boolean {
    return this.spent.every(({ ledgerTokens, budgetTokens }) => ledgerTokens <= budgetTokens)
  }

  get isReached(): boolean {
    return this.isWithinBudget && this.rows().every(({ ok }) => ok !== false)
  }

  #row({ half, kind, language }: Pick<Row, "half" | "kind" | "language">): Row {
    const counts = Array.from({ length: this.cycles }, (_, at) => {
      const sum: Count = { kept: 0, due: 0 }
      for (const each of kind ? [kind] : kinds) {
        for (const one of language ? [language] : languages) {
          const count = this.#counts.get(keyOf({ half, kind: each, language: one, cycle: at + 1 }))
          sum.kept += count?.kept ?? 0
          sum.due += count?.due ?? 0
        }
      }
      return sum
    })
    return { half, ...(kind && { kind }), ...(language && { language }), counts }
  }
}

function isUsed({ counts }: Row): boolean {
  return counts.some(({ due }) => due > 0)
}

function keyOf({
  half,
  language,
  kind,
  cycle,
}: {
  half: Half
  language: Language
  kind: Kind
  cycle: number
}): string {
  return `${half}/${language}/${kind}/${cycle}`
}
