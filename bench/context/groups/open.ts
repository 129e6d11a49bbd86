import type { Bench } from "../../bench.ts"
import { interleave, type Timing } from "../../measure.ts"
import { settle } from "../../store/open-store.ts"
import { importHistory } from "../long-history.ts"
import { makeScene, openMemo, type Scene } from "../scene.ts"

/** What a process that has not read a session reads and builds before its first step. */
export async function benchOpen(bench: Bench): Promise<void> {
  const messages = bench.quick ? 2_000 : 100_000
  await using scene = await makeScene()
  const total = messages.toLocaleString("en-US")
  for (const kept of bench.quick ? [20, 200] : [200, 2_000]) {
    bench.progress(`imports ${total} messages twice, and ${kept}`)
    const hidden = messages - kept
    const given = { store: scene.store, ids: scene.ids, texts: scene.texts }
    const sessions = {
      only: await importHistory(scene.store, given, { hidden: 0, kept }),
      once: await importHistory(scene.store, given, { hidden, kept }),
      often: await importHistory(scene.store, given, { hidden, kept, compactions: 20 }),
    }
    await settle(scene.store)
    const timings = await timeOpening(bench, scene, sessions)
    const count = kept.toLocaleString("en-US")
    for (const [name, times] of [["once", "a compaction"] as const, ["often", "20 compactions"] as const]) {
      bench.add({
        name: `open ${total} messages, ${count} shown after ${times}, beside ${count} alone`,
        value: timings[name].medianMs,
        p90: timings[name].p90Ms,
        raw: timings.only.medianMs,
        first: timings[name].firstMs,
        unit: "ms",
        target: { timesRawAtMost: 1.5 },
      })
    }
  }
}

function timeOpening<Name extends string>(
  bench: Bench,
  { store }: Scene,
  sessions: Record<Name, string>,
): Promise<Record<Name, Timing>> {
  const ways = Object.entries<string>(sessions).map(([name, sessionID]) => [
    name,
    async () => {
      const memo = await openMemo(store, sessionID)
      if (memo.context({}).length === 0) throw new Error("The context is empty.")
    },
  ])
  return interleave(Object.fromEntries(ways) as Record<Name, () => Promise<void>>, {
    rounds: bench.quick ? 5 : 40,
    warmUpRounds: 5,
    batch: 1,
  })
}
