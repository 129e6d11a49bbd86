import type { LedgerFact, LedgerFacts, LedgerKind } from "../../protocol/index.ts"
import { estimateTokens } from "../usage/tokens.ts"
import { type Facts, kinds } from "./collect.ts"
import { factLine, frameText, headingOf, ledgerText, namesShown, sectionOf, shownAs } from "./render.ts"
import { routineCounts } from "./sentences/routine.ts"

/**
 * The share of the budget, in percent, that each kind may use while other kinds need room. Unused room goes to the
 * others.
 */
const shares: Record<LedgerKind, number> = { file: 14, command: 13, said: 56, todo: 7, identifier: 10 }

/** Added to the rank of a fact that was kept before, so that only a clearly better fact replaces it. */
const keptBonus = 12
/** Facts below this rank were kept only because there was room. */
const solidRank = 45
const newestRank = 110
/**
 * All facts above the first limit are taken before any fact below it, and so on. Within a band, the kinds take turns.
 */
const bands: readonly number[] = [newestRank, solidRank, 24, Number.NEGATIVE_INFINITY]

/** With more facts than this, the check whether all of them fit is skipped: no budget holds them. */
const shownAtOnceMax = 5_000

interface Candidate {
  fact: LedgerFact
  rank: number
  /** Its position in time among the facts of its kind. */
  order: number
}

/** The facts that fit, by rank. Each kind is limited to its share while other kinds need room. */
export function choose(facts: Facts, { budgetTokens }: { budgetTokens: number }): LedgerFacts {
  const everything = inOrder(undefined, facts)
  if (everything.facts.length <= shownAtOnceMax && fits(everything, budgetTokens)) return everything
  const choice = new Choice(budgetTokens - estimateTokens(frameText()))
  const waiting = new Map(kinds.map((kind) => [kind, candidates(facts, kind)]))
  for (const rankMin of bands) takeBand(choice, waiting, rankMin)
  choice.tryAgain(0)
  // Uses the room that was reserved for headings and rounding and not needed.
  choice.tryAgain(
    budgetTokens - estimateTokens(ledgerText(inOrder(choice.facts(), facts))) - choice.roomTokens,
  )
  return fitted(choice, { facts, budgetTokens })
}

/** Sorted with the best last, so that `pop` takes the next one. */
function candidates(facts: Facts, kind: LedgerKind): Candidate[] {
  const all = facts.ofKind(kind)
  const times = kind === "file" ? new Map<LedgerFact, number>() : routineCounts(all)
  return all
    .map((fact, order) => {
      if (fact.kind === "said" && fact.newest) return { fact, order, rank: newestRank }
      const bonus = !facts.wasKept(fact) ? 0 : fact.rank >= solidRank ? keptBonus : keptBonus / 4
      return { fact, order, rank: fact.rank + bonus - routineLoss(times.get(fact) ?? 1) }
    })
    .sort((a, b) => a.rank - b.rank || a.order - b.order)
}

/** A sentence pattern that is repeated for one thing after another is a habit: each repetition says less. */
function routineLoss(times: number): number {
  return Math.min(24, (times - 1) * 8)
}

function takeBand(choice: Choice, waiting: ReadonlyMap<LedgerKind, Candidate[]>, rankMin: number): void {
  for (;;) {
    let next: LedgerKind | undefined
    for (const kind of kinds) {
      const best = waiting.get(kind)!.at(-1)
      if (best === undefined || best.rank < rankMin) continue
      if (next === undefined || choice.useOf(kind) < choice.useOf(next)) next = kind
    }
    if (next === undefined) return
    choice.take(waiting.get(next)!.pop()!)
  }
}

class Choice {
  readonly taken: Candidate[] = []
  readonly #used = new Map<LedgerKind, number>()
  readonly #shown = new Set<string>()
  readonly #costs = new Map<string, { kind: LedgerKind; cost: number }>()
  readonly #sections = new Set<string>()
  #refused: Candidate[] = []
  #room: number

  constructor(roomTokens: number) {
    this.#room = roomTokens
  }

  get roomTokens(): number {
    return this.#room
  }

  facts(): Set<LedgerFact> {
    return new Set(this.taken.map(({ fact }) => fact))
  }

  useOf(kind: LedgerKind): number {
    return (this.#used.get(kind) ?? 0) / shares[kind]
  }

  take(candidate: Candidate): void {
    const { fact } = candidate
    const name = shownAs(fact)
    if (name !== undefined && this.#shown.has(name)) {
      this.taken.push(candidate)
      return
    }
    const section = sectionOf(fact)
    const heading = this.#sections.has(section) ? 0 : estimateTokens(`${headingOf(section)}\n`)
    const cost = estimateTokens(`${factLine(fact)}\n`)
    if (cost + heading > this.#room) {
      this.#refused.push(candidate)
      return
    }
    this.taken.push(candidate)
    this.#sections.add(section)
    this.#pay(fact.kind, cost)
    this.#room -= heading
    if (name !== undefined) this.#costs.set(name, { kind: fact.kind, cost })
    for (const shown of namesShown(fact)) this.#show(shown)
  }

  /**
   * Retries refused facts, after sentences that show a name made that name's own line unnecessary and freed its room.
   */
  tryAgain(moreTokens: number): void {
    this.#room += moreTokens
    const refused = this.#refused
    this.#refused = []
    for (const candidate of refused) this.take(candidate)
  }

  #pay(kind: LedgerKind, cost: number): void {
    this.#room -= cost
    this.#used.set(kind, (this.#used.get(kind) ?? 0) + cost)
  }

  /** Frees the room of this name's own line, which is not needed any more. */
  #show(name: string): void {
    this.#shown.add(name)
    const own = this.#costs.get(name)
    if (own === undefined) return
    this.#costs.delete(name)
    this.#pay(own.kind, -own.cost)
  }
}

function fits(ledger: LedgerFacts, budgetTokens: number): boolean {
  return estimateTokens(ledgerText(ledger)) <= budgetTokens
}

/**
 * The estimates of single lines do not add up exactly to the estimate of the whole text, so the whole text is checked
 * last.
 */
function fitted(
  choice: Choice,
  { facts, budgetTokens }: { facts: Facts; budgetTokens: number },
): LedgerFacts {
  const best = choice.taken
  for (;;) {
    const ledger = inOrder(choice.facts(), facts)
    if (best.length === 0 || fits(ledger, budgetTokens)) return ledger
    best.length = Math.min(best.length - 1, Math.floor(best.length * 0.98))
  }
}

/**
 * The chosen facts in the order in which they were mentioned, with the others counted as dropped. Without `chosen`, all
 * facts.
 */
function inOrder(chosen: ReadonlySet<LedgerFact> | undefined, facts: Facts): LedgerFacts {
  const dropped = { ...facts.dropped }
  const kept: LedgerFact[] = []
  for (const kind of kinds) {
    for (const fact of facts.ofKind(kind)) {
      if (chosen === undefined || chosen.has(fact)) kept.push(fact)
      else dropped[kind] = (dropped[kind] ?? 0) + 1
    }
  }
  return { facts: kept, dropped, ...(facts.asked !== undefined && { asked: facts.asked }) }
}
