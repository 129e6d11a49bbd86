import { type Bench, scratchDirectory } from "../../bench.ts"
import { median, percentile, sleep } from "../../measure.ts"
import type { BuiltPackage } from "../built-package.ts"
import { Caller } from "../caller.ts"
import { startChild } from "../child.ts"
import type { ModelHandlers } from "../children/model.ts"
import { makeHome } from "../home.ts"
import { startServer } from "../server-process.ts"
import { marksPrompt, token } from "../stage.ts"

/** A person needs longer than this to write the first prompt. */
const restMs = 1500

/** The first turn of a server, in fresh processes on the same data, beside the same request sent to the model itself. */
export async function benchFirst(bench: Bench, built: BuiltPackage): Promise<void> {
  const rounds = bench.quick ? 2 : 11
  await using scratch = await scratchDirectory()
  await using model = await startChild<ModelHandlers>("model.ts")
  const baseURL = await model.ask("baseURL")
  const env = await makeHome(scratch.path("home"), baseURL)
  const args = [await built.path("bin/stemma.js"), "serve", "--port", "0", "--quiet"]
  const text = marksPrompt({ marks: 50 })
  const times: Record<"rested" | "atOnce" | "second" | "raw", number[]> = {
    rested: [],
    atOnce: [],
    second: [],
    raw: [],
  }
  for (let round = 0; round <= rounds; round++) {
    for (const way of ["rested", "atOnce"] as const) {
      await using server = await startServer(args, { env, cwd: env.HOME })
      const caller = new Caller(server.url, token)
      if (way === "rested") await sleep(restMs)
      const { id } = (await caller.post("/sessions", {})) as { id: string }
      const first = await timed(() => caller.post(`/sessions/${id}/ask`, { text }))
      const second = await timed(() => caller.post(`/sessions/${id}/ask`, { text }))
      caller.close()
      const raw = await timed(() => askModel(baseURL, text))
      if (round === 0) continue
      times[way].push(first)
      times.raw.push(raw)
      if (way === "rested") times.second.push(second)
    }
  }
  const figure = (way: keyof typeof times) => ({
    value: median(times[way]),
    p90: percentile(times[way], 0.9),
    raw: median(times.raw),
    unit: "ms",
  })
  bench.add({
    name: `first turn, ${restMs / 1000} s after the start`,
    ...figure("rested"),
    target: { overRawAtMost: 60 },
  })
  bench.add({ name: "first turn, right after the start", ...figure("atOnce") })
  bench.add({ name: "second turn", ...figure("second") })
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function askModel(baseURL: string, text: string): Promise<void> {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m1", stream: true, messages: [{ role: "user", content: text }] }),
  })
  for await (const _ of response.body!) {
    // Only the time until the end counts.
  }
}
