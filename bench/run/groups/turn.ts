import type { SessionHandle, Stemma } from "../../../src/index.ts"
import type { Bench } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import { makeSetup, openBenchStemma } from "../setup.ts"
import { calm, turn, turns, untilIdle } from "../turns.ts"
import { bareLoop, doStreamAlone, recordRequests } from "../ways.ts"

const maxHistory = 50

/** A turn without tools, warm; and, without a target, a turn that writes a file. */
export async function benchTurn(bench: Bench): Promise<void> {
  await using setup = await makeSetup()
  const recorder = recordRequests()
  await using stemma = await openBenchStemma(setup, recorder.fetch)
  const session = await stemma.sessions.create({ maxHistory })
  // After these turns the context is full, and the same for every later turn.
  await turns(session, maxHistory)
  const sent = recorder.last()
  const idleSession = await stemma.sessions.create({ maxHistory })
  await turns(idleSession, maxHistory)
  const timings = await interleave(
    {
      bare: bareLoop(sent),
      doStream: doStreamAlone(sent),
      turn: () => turn(session),
      untilIdle: async () => {
        await turn(idleSession)
        await untilIdle(stemma, idleSession)
      },
    },
    {
      rounds: bench.quick ? 20 : 300,
      warmUpRounds: 20,
      batch: 1,
      between: () => calm(stemma, session, idleSession),
    },
  )
  const { medianMs: value, p90Ms: p90 } = timings.turn
  const besideBare = { value, p90, raw: timings.bare.medianMs, unit: "ms" }
  const besideDoStream = { value, p90, raw: timings.doStream.medianMs, unit: "ms" }
  bench.add({ name: "turn, beside the bare loop", ...besideBare, target: { overRawAtMost: 3 } })
  bench.add({ name: "turn, beside doStream", ...besideDoStream, target: { overRawAtMost: 2 } })
  bench.add({
    name: "doStream, beside the bare loop",
    value: timings.doStream.medianMs,
    p90: timings.doStream.p90Ms,
    raw: timings.bare.medianMs,
    unit: "ms",
  })
  bench.add({
    name: "turn until the session is idle",
    value: timings.untilIdle.medianMs,
    p90: timings.untilIdle.p90Ms,
    unit: "ms",
  })
  await benchWrite(bench, stemma)
}

/** Two steps, a call, and a snapshot of the files before and after it. */
async function benchWrite(bench: Bench, stemma: Stemma): Promise<void> {
  const session: SessionHandle = await stemma.sessions.create({ maxHistory, permission: { edit: "allow" } })
  const write = (index: number) => {
    const input = { filePath: "notes.txt", content: `The note of turn ${index}.\n` }
    return turn(session, `tool write ${JSON.stringify(input)}`)
  }
  const timings = await interleave(
    { write },
    { rounds: bench.quick ? 3 : 30, warmUpRounds: 5, batch: 1, between: () => calm(stemma, session) },
  )
  const { medianMs: value, p90Ms: p90, firstMs: first } = timings.write
  bench.add({ name: "turn with one write, two steps, two snapshots", value, p90, first, unit: "ms" })
}
