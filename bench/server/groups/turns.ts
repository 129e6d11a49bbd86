import type { Bench } from "../../bench.ts"
import { median } from "../../measure.ts"
import type { BuiltPackage } from "../built-package.ts"
import { startChild } from "../child.ts"
import type { CallerHandlers, CallResult } from "../children/callers.ts"
import { marksPrompt, openStage, token } from "../stage.ts"

const sessionsCount = 20
const turnsCount = 5

/** Twenty sessions with five turns each at the same time over HTTP, beside the same turns of the relay. */
export async function benchTurns(bench: Bench, built: BuiltPackage): Promise<void> {
  const rounds = bench.quick ? 2 : 10
  await using stage = await openStage(built)
  const { stemma, url, relayUrl } = stage
  await using callers = await startChild<CallerHandlers>("callers.ts")
  const body = { text: marksPrompt({ marks: 50 }) }
  const own: CallResult[] = []
  const relay: CallResult[] = []
  const cpuMs: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const sessions: string[] = []
    for (let i = 0; i < sessionsCount; i++) sessions.push(await stemma.ask("createSession"))
    const before = await stemma.ask("cpuMs")
    own.push(
      await callers.ask(
        "call",
        { url, token, warmPath: "/healthz" },
        sessions.map((id) => ({ path: `/sessions/${id}/ask`, body, times: turnsCount })),
      ),
    )
    cpuMs.push((await stemma.ask("cpuMs")) - before)
    for (const id of sessions) await stemma.ask("calm", id)
    relay.push(
      await callers.ask(
        "call",
        { url: relayUrl, warmPath: "/healthz" },
        sessions.map(() => ({ path: "/turn", body, times: turnsCount })),
      ),
    )
  }
  const failed = own.reduce((sum, result) => sum + result.failed, 0)
  const name = `${sessionsCount} sessions by ${turnsCount} turns over HTTP`
  bench.add({ name: `${name}: failed`, value: failed, unit: "", target: { atMost: 0 } })
  bench.add({
    name: `${name}, beside the relay`,
    value: median(own.slice(1).map(({ elapsedMs }) => elapsedMs)),
    raw: median(relay.slice(1).map(({ elapsedMs }) => elapsedMs)),
    first: own[0]!.elapsedMs,
    unit: "ms",
    target: { under: 600 },
  })
  bench.add({
    name: `${name}: CPU of the server for a turn`,
    value: median(cpuMs.slice(1)) / (sessionsCount * turnsCount),
    first: cpuMs[0]! / (sessionsCount * turnsCount),
    unit: "ms",
  })
}
