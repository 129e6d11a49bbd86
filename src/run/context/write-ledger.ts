import { setImmediate } from "node:timers/promises"
import { maskDeep } from "../../config/secrets/environment.ts"
import type { HistoryItem, LedgerFacts } from "../../protocol/index.ts"
import { growingLedger, newestPrompt } from "../../session/index.ts"

/** A long history takes seconds: so long at a time, lest the lease runs out and others wait. */
const sliceMs = 10

/** The ledger of a compaction that hides these items beside those before it. Secrets are taken out first: half a one would not be known for one. */
export async function writeLedger(
  before: LedgerFacts | undefined,
  items: readonly HistoryItem[],
  options: { budgetTokens: number; mask: (text: string) => string; signal: AbortSignal },
): Promise<LedgerFacts> {
  const ledger = growingLedger(before)
  const newest = newestPrompt(items)
  let sliceEnd = performance.now() + sliceMs
  for (const [index, item] of items.entries()) {
    ledger.add(maskDeep(item, options.mask), { isNewest: index === newest })
    if (performance.now() < sliceEnd) continue
    await setImmediate()
    options.signal.throwIfAborted()
    sliceEnd = performance.now() + sliceMs
  }
  // Once more, since what is invisible may have kept a secret from being known for one.
  return maskDeep(ledger.chosen(options), options.mask)
}
