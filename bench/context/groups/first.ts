import { setTimeout } from "node:timers/promises"
import { tailTokensOf } from "../../../src/run/context/context-window.ts"
import { extendLedger, ledgerText, planTail, recap } from "../../../src/session/index.ts"
import type { Bench } from "../../bench.ts"
import { watchLoop } from "../../measure.ts"
import { importHistory } from "../long-history.ts"
import { addSummaries, makeScene, openMemo, openScripted, window } from "../scene.ts"

const patienceMs = 120_000

/** The first compaction of a history in which nothing was ever hidden, once: all of it must be read. */
export async function benchFirst(bench: Bench): Promise<void> {
  const messages = bench.quick ? 2_000 : 100_000
  await using scene = await makeScene()
  const { store, directory } = scene
  const { stemma, model } = await openScripted(scene)
  await using _ = stemma
  const total = messages.toLocaleString("en-US")
  bench.progress(`imports ${total} messages`)
  const sessionID = await importHistory(store, scene, { hidden: 0, kept: messages, session: { directory } })
  const phase = async <T>(name: string, work: () => T | Promise<T>): Promise<T> => {
    bench.progress(name)
    const start = performance.now()
    const result = await work()
    bench.add({ name: `${name}, ${total} messages`, value: performance.now() - start, unit: "ms" })
    return result
  }
  const session = await stemma.sessions.get(sessionID)
  const memo = await phase("reading", () => openMemo(store, sessionID))
  await phase("building the context, with its tokens", () => memo.context({}))
  const items = memo.items
  const tailTokens = tailTokensOf(window)
  const cut = await phase("planning", () =>
    planTail(items, { tailTokens, tokensAt: (index) => memo.tokensAt(index) }),
  )
  const hidden = items.slice(0, cut)
  await phase("text for the summary", () => recap(hidden, { textMax: 8_000, outputMax: 2_000 }))
  const budgetTokens = Math.floor(window.limit / 8)
  const facts = await phase("ledger", () => extendLedger(undefined, hidden, { budgetTokens }))
  await phase("ledger as text", () => ledgerText(facts))
  addSummaries(model)
  const stopped = watchLoop()
  await phase("all of the first compact()", () =>
    Promise.race([session.compact(), endAfter(patienceMs)]).catch((error: unknown) => {
      // It is closed once more at the end, which interrupts running work.
      stemma.close().catch(() => {})
      throw error
    }),
  )
  bench.add({ name: "the longest time in which nothing else went on", value: stopped(), unit: "ms" })
}

/** Rejects after a timeout, because a run that loses its lease starts again, perhaps for ever. */
async function endAfter(ms: number): Promise<never> {
  await setTimeout(ms, undefined, { ref: false })
  throw new Error(`The compaction was not done after ${ms / 1000} s.`)
}
