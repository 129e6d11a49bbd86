import type { SessionHandle, Stemma } from "../../../src/index.ts"
import type { Bench } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import { makeIds } from "../../store/content.ts"
import { importSession } from "../../store/history.ts"
import { makeSetup, openBenchStemma, type Setup } from "../setup.ts"
import { calm, turn, turns } from "../turns.ts"
import { bareLoop, doStreamAlone, type Recorder, recordRequests, type Sent } from "../ways.ts"

const maxHistory = 50

/** Turns of a session with a long history: with its last messages in the context, and with all of it. */
export async function benchHistory(bench: Bench): Promise<void> {
  const messages = bench.quick ? 1000 : 10_000
  const count = messages.toLocaleString("en-US")
  await using setup = await makeSetup()
  const recorder = recordRequests()
  await using stemma = await openBenchStemma(setup, recorder.fetch)
  bench.progress(`imports ${count} messages twice`)
  const empty = await stemma.sessions.create({ maxHistory })
  const bounded = await importedSession(stemma, setup, { messages, maxHistory })
  const whole = await importedSession(stemma, setup, { messages })
  const sent = await primed(empty, recorder)
  await primed(bounded, recorder)
  const sentWhole = await primed(whole, recorder)
  bench.progress(`sends ${(sentWhole.body.length / 1e6).toFixed(1)} MB with all messages in the context`)
  const timings = await interleave(
    {
      bare: bareLoop(sent),
      empty: () => turn(empty),
      bounded: () => turn(bounded),
      bareWhole: bareLoop(sentWhole),
      doStreamWhole: doStreamAlone(sentWhole),
      whole: () => turn(whole),
    },
    {
      rounds: bench.quick ? 10 : 100,
      warmUpRounds: bench.quick ? 5 : 20,
      batch: 1,
      between: () => calm(stemma, empty, bounded, whole),
    },
  )
  const overBare = (name: "empty" | "bounded") => timings[name].medianMs - timings.bare.medianMs
  const target = { timesRawAtMost: 1.3 }
  bench.add({
    name: `turn with ${count} messages, the last ${maxHistory} in the context, beside a new session's`,
    value: timings.bounded.medianMs,
    p90: timings.bounded.p90Ms,
    raw: timings.empty.medianMs,
    unit: "ms",
    target,
  })
  bench.add({
    name: "what it takes over the bare loop, beside a new session's",
    value: overBare("bounded"),
    raw: overBare("empty"),
    unit: "ms",
    target,
  })
  const { medianMs: value, p90Ms: p90 } = timings.whole
  bench.add({
    name: `turn with all ${count} in the context, beside the bare loop`,
    value,
    p90,
    raw: timings.bareWhole.medianMs,
    unit: "ms",
  })
  bench.add({
    name: `turn with all ${count} in the context, beside doStream`,
    value,
    p90,
    raw: timings.doStreamWhole.medianMs,
    unit: "ms",
    target: { overRawAtMost: 6 },
  })
}

async function importedSession(
  stemma: Stemma,
  { directory }: Setup,
  { messages, maxHistory }: { messages: number; maxHistory?: number },
): Promise<SessionHandle> {
  const ids = makeIds(maxHistory ?? 1)
  const session = { directory, ...(maxHistory !== undefined && { maxHistory }) }
  const { sessionID } = await importSession(stemma.store, ids, { messages, session })
  return stemma.sessions.get(sessionID)
}

/** Fills the context and returns the request of the last turn. */
async function primed(session: SessionHandle, recorder: Recorder): Promise<Sent> {
  await turns(session, maxHistory)
  return recorder.last()
}
