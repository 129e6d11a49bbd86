import {
  estimateMessageTokens,
  estimateTokens,
  extendLedger,
  ledgerText,
} from "../../../src/session/index.ts"
import type { Bench } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import { makeIds } from "../../store/content.ts"
import { Vocabulary } from "../../store/vocabulary.ts"
import { makeItems } from "../long-history.ts"
import { makeTexts } from "../texts.ts"

/**
 * The cost of each character: estimates beside a loop that only reads each character, the ledger beside an estimate.
 */
export async function benchText(bench: Bench): Promise<void> {
  await benchEstimate(bench, bench.quick ? 5 : 40)
  const count = bench.quick ? 200 : 2_000
  const items = makeItems(makeIds(6), makeTexts(6), count)
  const budgetTokens = 20_000
  const facts = extendLedger(undefined, items, { budgetTokens })
  const timings = await interleave(
    {
      estimate: () => items.reduce((sum, item) => sum + estimateMessageTokens(item), 0),
      ledger: () => extendLedger(undefined, items, { budgetTokens }),
      merge: () => extendLedger(facts, items, { budgetTokens }),
      text: () => ledgerText(facts),
    },
    { rounds: bench.quick ? 3 : 8, warmUpRounds: 2, batch: 1 },
  )
  const messages = count.toLocaleString("en-US")
  const raw = timings.estimate.medianMs
  const names = {
    ledger: `ledger of ${messages} messages, beside estimating their tokens`,
    merge: "the same, with the ledger before it",
    text: `ledger of ${facts.facts.length.toLocaleString("en-US")} facts as text`,
  }
  for (const [way, name] of Object.entries(names) as [keyof typeof names, string][]) {
    bench.add({ name, value: timings[way].medianMs, p90: timings[way].p90Ms, raw, unit: "ms" })
  }
}

async function benchEstimate(bench: Bench, rounds: number): Promise<void> {
  const vocabulary = new Vocabulary(7)
  const words = 20_000
  const texts = {
    "English prose": vocabulary.prose(words),
    source: vocabulary.code(words / 10),
    "Chinese prose": vocabulary.chinese(words),
  }
  for (const [name, text] of Object.entries(texts)) {
    const timings = await interleave(
      { estimate: () => estimateTokens(text), look: () => lookAt(text) },
      { rounds, warmUpRounds: 5, batch: 1 },
    )
    const ns = (ms: number) => (ms * 1e6) / text.length
    bench.add({
      name: `estimate of ${name}, a character`,
      value: ns(timings.estimate.medianMs),
      p90: ns(timings.estimate.p90Ms),
      raw: ns(timings.look.medianMs),
      unit: "ns",
    })
  }
}

function lookAt(text: string): number {
  let sum = 0
  for (let i = 0; i < text.length; i++) sum += text.charCodeAt(i)
  return sum
}
