import type { SessionHandle, Stemma } from "../../../src/index.ts"
import type { ScriptedModel } from "../../../src/models/scripted.ts"
import type { Bench } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import { calm } from "../../run/turns.ts"
import { settle } from "../../store/open-store.ts"
import { appendMessages, importHistory } from "../long-history.ts"
import { addSummaries, makeScene, openScripted, type Scene } from "../scene.ts"

const warmUpRounds = 3
/** Compactions before the last one of the second figure. */
const earlier = 4

/** A whole `session.compact()`, the first after the import and the fifth in a row. */
export async function benchCompact(bench: Bench): Promise<void> {
  const messages = bench.quick ? 2_000 : 100_000
  const kept = bench.quick ? 200 : 2_000
  await using scene = await makeScene()
  const { stemma, model } = await openScripted(scene)
  await using _ = stemma
  const total = messages.toLocaleString("en-US")
  bench.progress(`imports ${total} messages`)
  const session = { directory: scene.directory }
  const long = await importHistory(scene.store, scene, { hidden: messages - kept, kept, session })
  const short = await importHistory(scene.store, scene, { hidden: 0, kept, session })
  const setting = { scene, stemma, model, kept }
  const count = kept.toLocaleString("en-US")
  const name = `compact() of ${total} messages, ${count} shown, beside ${count} alone`
  await benchBeside(bench, name, { ...setting, long, short })
  bench.progress(`compacts both ${earlier} times`)
  for (const id of [long, short]) await compactOften(setting, await stemma.sessions.get(id))
  await benchBeside(bench, `the fifth compact() in a row, ${count} messages after the fourth`, {
    ...setting,
    long,
    short,
  })
}

interface Setting {
  scene: Scene
  stemma: Stemma
  model: ScriptedModel
  kept: number
}

async function compactOften({ scene, stemma, model, kept }: Setting, session: SessionHandle): Promise<void> {
  for (let time = 0; time < earlier; time++) {
    addSummaries(model)
    await session.compact()
    await calm(stemma, session)
    await appendMessages(scene.store, scene, { sessionID: session.id, count: kept })
  }
}

/** Each compaction runs in a fork of its own, so that all start from the same history. */
async function benchBeside(
  bench: Bench,
  name: string,
  { scene, stemma, model, long, short }: Setting & { long: string; short: string },
): Promise<void> {
  const rounds = bench.quick ? 3 : 15
  const forks = async (id: string) => {
    const made: SessionHandle[] = []
    for (let i = 0; i < warmUpRounds + rounds; i++) made.push(await stemma.sessions.fork(id))
    return made
  }
  const [longs, shorts] = [await forks(long), await forks(short)]
  await settle(scene.store)
  const timings = await interleave(
    { long: (index) => longs[index]!.compact(), short: (index) => shorts[index]!.compact() },
    {
      rounds,
      warmUpRounds,
      batch: 1,
      between: async () => {
        addSummaries(model)
        await calm(stemma, ...longs, ...shorts)
      },
    },
  )
  bench.add({
    name,
    value: timings.long.medianMs,
    p90: timings.long.p90Ms,
    raw: timings.short.medianMs,
    first: timings.long.firstMs,
    unit: "ms",
    target: { timesRawAtMost: 1.5 },
  })
}
