import type { Bench } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import type { BuiltPackage } from "../built-package.ts"
import { Caller } from "../caller.ts"
import { marksPrompt, openStage } from "../stage.ts"

const readMs = 8
const cpuReads = 40

/** Long lists by GET on one connection, beside a bare server that sends the same bytes from its memory. */
export async function benchReads(bench: Bench, built: BuiltPackage): Promise<void> {
  const turns = bench.quick ? 30 : 300
  const sessions = bench.quick ? 100 : 1000
  await using stage = await openStage(built)
  const { stemma, caller } = stage
  const bare = new Caller(stage.relayUrl)
  const id = await stemma.ask("createSession", { maxHistory: 50 })
  for (let i = 0; i < turns; i++) {
    await caller.post(`/sessions/${id}/ask`, { text: marksPrompt({ marks: 50 }) })
  }
  for (let i = 0; i < sessions; i++) await stemma.ask("createSession")
  await stemma.ask("settle", id)
  const messages = (turns * 2).toLocaleString("en-US")
  const lists = {
    [`${messages} messages by GET`]: `/sessions/${id}/history?limit=1000`,
    [`${messages} messages by GET, as the OpenCode client asks`]: `/session/${id}/message`,
    [`${sessions.toLocaleString("en-US")} sessions by GET`]: `/sessions?limit=${sessions}`,
    [`${sessions.toLocaleString("en-US")} sessions by GET, as the OpenCode client asks`]: `/session?limit=${sessions}`,
  }
  for (const [name, path] of Object.entries(lists)) {
    const bytes = await caller.read(path)
    await bare.post("/keep", JSON.parse(bytes.toString()) as object)
    const timings = await interleave(
      { own: () => caller.read(path), bare: () => bare.read("/kept") },
      { rounds: bench.quick ? 5 : 60, warmUpRounds: bench.quick ? 2 : 20, batch: 1 },
    )
    bench.progress(`${name}: ${Math.round(bytes.length / 1000)} kB`)
    bench.add({
      name: `${name}, beside a bare server`,
      value: timings.own.medianMs,
      p90: timings.own.p90Ms,
      raw: timings.bare.medianMs,
      first: timings.own.firstMs,
      unit: "ms",
      target: { under: readMs },
    })
    const cpuMs = await stemma.ask("cpuMs")
    for (let i = 0; i < cpuReads; i++) await caller.read(path)
    bench.add({
      name: `${name}: CPU of the server`,
      value: ((await stemma.ask("cpuMs")) - cpuMs) / cpuReads,
      unit: "ms",
    })
  }
  bare.close()
}
