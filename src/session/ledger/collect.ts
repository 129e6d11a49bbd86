import type { LedgerFact, LedgerFacts, LedgerKind } from "../../protocol/index.ts"
import { visibleLine } from "../text/visible-text.ts"
import { shorten } from "./sentences/prose.ts"

/** On one line, without characters that a store cannot keep. */
function clean(text: string): string {
  return visibleLine(text.slice(0, 2_000)).toWellFormed()
}

type FactOf<K extends LedgerKind> = Extract<LedgerFact, { kind: K }>

export const kinds: readonly LedgerKind[] = ["file", "command", "said", "todo", "identifier"]

/** When a kind has more facts than this, the lowest-ranked ones are dropped at once, to limit memory. */
const heldMax = 20_000
const heldAfterPrune = 5_000

/** The facts, by kind and key. Adding a fact again updates it and makes it the newest. */
export class Facts {
  readonly dropped: LedgerFacts["dropped"]
  /** The assistant's last question, as long as the user has not answered it. */
  asked: string | undefined
  readonly #byKind = new Map<LedgerKind, Map<string, LedgerFact>>(kinds.map((kind) => [kind, new Map()]))
  /** Keys of the facts that were in the ledger before. */
  readonly #kept = new Set<string>()

  constructor(before: LedgerFacts | undefined) {
    this.dropped = { ...before?.dropped }
    this.asked = before?.asked
    for (const fact of before?.facts ?? []) {
      this.#add(fact)
      this.#kept.add(keyOf(fact))
    }
  }

  wasKept(fact: LedgerFact): boolean {
    return this.#kept.has(keyOf(fact))
  }

  ofKind<K extends LedgerKind>(kind: K): FactOf<K>[] {
    return [...this.#byKind.get(kind)!.values()] as FactOf<K>[]
  }

  file(
    path: string,
    seen: { reads?: number; changes?: number; told?: number; removed?: boolean; rank: number },
  ): void {
    const name = shorten(clean(path), 300)
    if (name === "") return
    const before = this.#byKind.get("file")!.get(name) as FactOf<"file"> | undefined
    const { reads = 0, changes = 0, told = 0 } = seen
    const sum = (before?.told ?? 0) + told
    const removed = seen.removed ?? (changes > 0 ? false : (before?.removed ?? false))
    this.#add({
      kind: "file",
      path: name,
      reads: (before?.reads ?? 0) + reads,
      changes: (before?.changes ?? 0) + changes,
      ...(sum > 0 && { told: sum }),
      ...(removed && { removed: true as const }),
      rank: Math.max(before?.rank ?? 0, seen.rank),
    })
  }

  command(command: string, { outcome, rank }: { outcome: string; rank: number }): void {
    const line = clean(command)
    if (line === "") return
    const key = wordKey(line)
    const before = this.#byKind.get("command")!.get(key) as FactOf<"command"> | undefined
    this.#add({
      kind: "command",
      command: line,
      outcome: clean(outcome),
      times: (before?.times ?? 0) + 1,
      rank,
    })
  }

  said(text: string, { rank, by, newest }: { rank: number; by?: "assistant"; newest?: boolean }): void {
    const line = clean(text)
    const before = this.#byKind.get("said")!.get(wordKey(line)) as FactOf<"said"> | undefined
    // A sentence that both the user and the assistant said counts as the user's.
    if (before && by !== undefined && before.by === undefined) return
    this.#add({
      kind: "said",
      text: line,
      ...(by && { by }),
      ...(newest && { newest: true as const }),
      rank: Math.max(rank, before?.rank ?? 0),
    })
  }

  /** Call it when the user said something newer. */
  forgetNewest(): void {
    for (const [key, fact] of this.#byKind.get("said")!) {
      if (fact.kind !== "said" || !fact.newest) continue
      const { newest: _, ...rest } = fact
      this.#byKind.get("said")!.set(key, rest)
    }
  }

  /** A new todo list replaces the old one. */
  todos(open: readonly { text: string; status: "pending" | "in_progress" }[]): void {
    this.#byKind.get("todo")!.clear()
    delete this.dropped.todo
    for (const { text, status } of open) {
      const line = shorten(clean(text), 300)
      if (line !== "")
        this.#add({ kind: "todo", text: line, status, rank: status === "in_progress" ? 88 : 84 })
    }
  }

  identifier(value: string, { note, rank }: { note: string; rank: number }): void {
    const name = clean(value)
    if (name === "") return
    const before = this.#byKind.get("identifier")!.get(name) as FactOf<"identifier"> | undefined
    const better = before !== undefined && before.rank >= rank && before.note !== ""
    this.#add({
      kind: "identifier",
      value: name,
      note: better ? before.note : clean(note),
      rank: Math.max(rank, before?.rank ?? 0),
    })
  }

  drop(kind: LedgerKind, count: number): void {
    if (count > 0) this.dropped[kind] = (this.dropped[kind] ?? 0) + count
  }

  #add(fact: LedgerFact): void {
    const facts = this.#byKind.get(fact.kind)!
    const key = keyOf(fact)
    facts.delete(key)
    facts.set(key, fact)
    if (facts.size > heldMax) this.#prune(facts)
  }

  #prune(facts: Map<string, LedgerFact>): void {
    const newestFirst = [...facts].reverse()
    const gone = newestFirst.sort((a, b) => b[1].rank - a[1].rank).slice(heldAfterPrune)
    for (const [key, fact] of gone) {
      facts.delete(key)
      this.drop(fact.kind, 1)
    }
  }
}

/** The identity of a fact: two facts with the same key are the same fact. */
export function keyOf(fact: LedgerFact): string {
  switch (fact.kind) {
    case "file":
      return fact.path
    case "command":
      return wordKey(fact.command)
    case "said":
      return wordKey(fact.text)
    case "todo":
      return fact.text
    case "identifier":
      return fact.value
  }
}

const fillers = new Set("a an the to of and is are be that it so just really actually please then".split(" "))

/** Two sentences with the same words, apart from case, punctuation and filler words, have the same key. */
function wordKey(text: string): string {
  const words = text.toLowerCase().match(/[^\s.,!?;:"'`，。！？；：、“”‘’()（）]+/g) ?? []
  return words.filter((word) => !fillers.has(word)).join(" ") || text
}
