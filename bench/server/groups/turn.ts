import type { Bench } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import type { BuiltPackage } from "../built-package.ts"
import { Caller } from "../caller.ts"
import { marksPrompt, openStage } from "../stage.ts"

const maxHistory = 50

/** A turn over HTTP, always on the same connection, warm. */
export async function benchTurn(bench: Bench, built: BuiltPackage): Promise<void> {
  await using stage = await openStage(built)
  const { stemma, caller } = stage
  const text = marksPrompt({ marks: 50 })
  const relay = new Caller(stage.relayUrl)
  const own = await stemma.ask("createSession", { maxHistory })
  const opencode = await stemma.ask("createSession", { maxHistory })
  const ways = {
    relay: () => relay.post("/turn", { text }),
    own: () => caller.post(`/sessions/${own}/ask`, { text }),
    opencode: () => caller.post(`/session/${opencode}/message`, { parts: [{ type: "text", text }] }),
  }
  // After these turns the contexts are full, and the same for every later turn.
  for (let i = 0; i < maxHistory; i++) {
    await ways.own()
    await ways.opencode()
  }
  const timings = await interleave(ways, {
    rounds: bench.quick ? 20 : 300,
    warmUpRounds: bench.quick ? 5 : 30,
    batch: 1,
    between: async () => {
      await stemma.ask("calm", own)
      await stemma.ask("calm", opencode)
    },
  })
  relay.close()
  const names = { own: "turn over HTTP", opencode: "turn over HTTP, as the OpenCode client asks" }
  for (const way of ["own", "opencode"] as const) {
    bench.add({
      name: `${names[way]}, beside the relay`,
      value: timings[way].medianMs,
      p90: timings[way].p90Ms,
      raw: timings.relay.medianMs,
      first: timings[way].firstMs,
      unit: "ms",
      target: { overRawAtMost: 4.5 },
    })
  }
}
