import { estimateTokens } from "../../src/session/index.ts"
import { checkLedger } from "./check.ts"
import { openCompactor } from "./cycle.ts"
import { cycles, generateSessions } from "./generate.ts"
import { Recall } from "./report.ts"
import type { GeneratedSession, PlantedFact } from "./session.ts"

export interface EvaluateOptions {
  seed: number
  sessions: number
  noise?: number
  /** Called after the last compaction of each session. */
  onSession?: (session: GeneratedSession, found: { text: string; lost: PlantedFact[] }) => void
}

const directory = "/home/dev/shop"

/** Compacts each generated session after every cycle, and looks for the planted facts in the ledger alone. */
export async function evaluate({ seed, sessions, noise = 1, onSession }: EvaluateOptions): Promise<Recall> {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base")
  const recall = new Recall(cycles)
  for (const session of generateSessions({ seed, sessions, directory, noise })) {
    const { half, language } = session
    await using compactor = await openCompactor()
    let last: { text: string; lost: PlantedFact[] } | undefined
    for (const [at, messages] of session.cycles.entries()) {
      const { text, hidden, historyTokens, budgetTokens } = await compactor.cycle(messages)
      const { due, lost, stale, over } = checkLedger(session, { text, hidden })
      const cycle = at + 1
      for (const fact of due) recall.add({ half, language, kind: fact.kind, cycle }, !lost.includes(fact))
      const [ledgerTokens, o200kTokens] = [estimateTokens(text), countTokens(text)]
      const spent = { ledgerTokens, budgetTokens, o200kTokens, historyTokens }
      recall.spent.push({ half, cycle, ...spent, stale: stale.length, over })
      last = { text, lost }
    }
    if (last) onSession?.(session, last)
  }
  return recall
}
