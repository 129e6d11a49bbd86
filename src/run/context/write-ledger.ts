import { setImmediate } from "node:timers/promises"
import { maskDeep } from "../../config/secrets/environment.ts"
import type { HistoryItem, LedgerFacts } from "../../protocol/index.ts"
import { growingLedger, mayHaveFarFacts, nearStart, newestPrompt } from "../../session/index.ts"

/**
 * A long history takes up to a second. After each slice the event loop gets a tick, to renew the lease and serve other
 * sessions.
 */
const sliceMs = 10

/**
 * The ledger of a compaction: the facts of earlier compactions plus those of the items that are hidden now. Secrets are
 * masked before texts are cut, since half a secret would not be recognised.
 */
export async function writeLedger(
  before: LedgerFacts | undefined,
  items: readonly HistoryItem[],
  options: { budgetTokens: number; mask: (text: string) => string; signal: AbortSignal },
): Promise<LedgerFacts> {
  const ledger = growingLedger(before)
  const newest = newestPrompt(items)
  const near = nearStart(items)
  let sliceEnd = performance.now() + sliceMs
  for (const [index, item] of items.entries()) {
    const isFar = index < near && index !== newest
    if (!isFar || mayHaveFarFacts(item))
      ledger.add(maskDeep(item, options.mask), { isNewest: index === newest, isFar })
    if (performance.now() < sliceEnd) continue
    await setImmediate()
    options.signal.throwIfAborted()
    sliceEnd = performance.now() + sliceMs
  }
  // Masked again: invisible characters inside a secret may have kept the first pass from finding it.
  return maskDeep(ledger.chosen(options), options.mask)
}
