import type { Bench } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import { calm, turn } from "../../run/turns.ts"
import { settle } from "../../store/open-store.ts"
import { importHistory } from "../long-history.ts"
import { addSummaries, makeScene, openScripted } from "../scene.ts"

/** Common operations on a session after a compaction. */
export async function benchTurn(bench: Bench): Promise<void> {
  const messages = bench.quick ? 2_000 : 100_000
  const kept = bench.quick ? 200 : 2_000
  await using scene = await makeScene()
  const { stemma, model } = await openScripted(scene)
  await using _ = stemma
  const total = messages.toLocaleString("en-US")
  bench.progress(`imports ${total} messages`)
  const session = { directory: scene.directory }
  const imported = await importHistory(scene.store, scene, { hidden: messages - kept, kept, session })
  // The same number of messages is shown, and its ledger may be as long.
  const short = await importHistory(scene.store, scene, { hidden: 2, kept, session })
  const compacted = await stemma.sessions.get(imported)
  const alone = await stemma.sessions.get(short)
  for (const one of [compacted, alone]) {
    addSummaries(model)
    await one.compact()
  }
  await settle(scene.store)
  const fresh = await stemma.sessions.create()
  const between = () => calm(stemma, compacted, alone, fresh)
  const asked = await interleave(
    { alone: () => alone.context(), compacted: () => compacted.context() },
    { rounds: bench.quick ? 5 : 40, warmUpRounds: 5, batch: 1, between },
  )
  bench.add({
    name: `context() of ${total} messages after a compaction, beside one with as much shown`,
    value: asked.compacted.medianMs,
    p90: asked.compacted.p90Ms,
    raw: asked.alone.medianMs,
    unit: "ms",
    target: { timesRawAtMost: 1.5 },
  })
  const turns = await interleave(
    { fresh: () => turn(fresh), compacted: () => turn(compacted) },
    { rounds: bench.quick ? 10 : 100, warmUpRounds: bench.quick ? 5 : 20, batch: 1, between },
  )
  bench.add({
    name: `turn of ${total} messages after a compaction, beside a new session's`,
    value: turns.compacted.medianMs,
    p90: turns.compacted.p90Ms,
    raw: turns.fresh.medianMs,
    first: turns.compacted.firstMs,
    unit: "ms",
    target: { timesRawAtMost: 1.3 },
  })
  const forks = await interleave(
    { fresh: () => stemma.sessions.fork(fresh.id), compacted: () => stemma.sessions.fork(imported) },
    { rounds: bench.quick ? 4 : 20, batch: 25, between },
  )
  bench.add({
    name: "fork of it, beside a new session's",
    value: forks.compacted.medianMs,
    p90: forks.compacted.p90Ms,
    raw: forks.fresh.medianMs,
    unit: "ms",
    target: { timesRawAtMost: 1.3 },
  })
}
