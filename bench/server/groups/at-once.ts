import { readFileSync } from "node:fs"
import { type Bench, scratchDirectory } from "../../bench.ts"
import { sleep } from "../../measure.ts"
import type { BuiltPackage } from "../built-package.ts"
import { Caller } from "../caller.ts"
import { startChild } from "../child.ts"
import type { CallerHandlers } from "../children/callers.ts"
import type { ModelHandlers } from "../children/model.ts"
import { makeHome } from "../home.ts"
import { type ServerProcess, startServer } from "../server-process.ts"
import { marksPrompt, token } from "../stage.ts"

/** The time before and after the prompts in which the server is also asked for its health. */
const marginMs = 200

/** Prompts to many sessions of `stemma serve` that arrive at the same moment, while another process asks for its health. */
export async function benchAtOnce(bench: Bench, built: BuiltPackage): Promise<void> {
  const count = bench.quick ? 100 : 1000
  await using scratch = await scratchDirectory()
  await using model = await startChild<ModelHandlers>("model.ts")
  await using server = await serve(await built.path("bin/stemma.js"), {
    home: scratch.path("home"),
    baseURL: await model.ask("baseURL"),
  })
  await using callers = await startChild<CallerHandlers>("callers.ts")
  await using pinger = await startChild<CallerHandlers>("callers.ts")
  const { url, pid } = server
  const caller = new Caller(url, token)
  const sessions: string[] = []
  for (let i = 0; i <= count; i++) {
    sessions.push(((await caller.post("/sessions", {})) as { id: string }).id)
  }
  const text = marksPrompt({ marks: 50 })
  // The first turn of a process loads the provider's package.
  await caller.post(`/sessions/${sessions.pop()}/ask`, { text })
  const beforeMB = peakMB(pid)
  // The first reading begins to measure the event loop.
  await caller.read("/metrics")
  await pinger.ask("startPinging", { url, token, path: "/healthz", pid })
  await sleep(marginMs)
  const work = sessions.map((id) => ({ path: `/sessions/${id}/ask`, body: { text }, times: 1 }))
  const done = await callers.ask("call", { url, token }, work)
  await sleep(marginMs)
  const waits = await pinger.ask("stopPinging")
  const metrics = (await caller.read("/metrics")).toString()
  caller.close()
  const name = `${count.toLocaleString("en-US")} prompts at once over HTTP`
  bench.add({ name: `${name}: failed`, value: done.failed, unit: "", target: { atMost: 0 } })
  bench.add({
    name: `${name}: longest wait for /healthz`,
    value: waits.longestMs,
    raw: waits.medianMs,
    unit: "ms",
    target: { under: 200 },
  })
  bench.add({
    name: `${name}: longest wait for /healthz, CPU time of the server alone`,
    value: waits.longestCpuMs,
    unit: "ms",
  })
  bench.add({
    name: `${name}: longest stall of the event loop`,
    value: Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(metrics)?.[1]) * 1000,
    unit: "ms",
    target: { under: 200 },
  })
  bench.add({
    name: `${name}: peak of memory`,
    value: peakMB(pid),
    first: beforeMB,
    unit: "MB",
    target: { under: 400 },
  })
  bench.add({ name: `${name}: until the last reply`, value: done.elapsedMs, unit: "ms" })
}

/** `stemma serve` with a config that names the model. */
async function serve(
  program: string,
  { home, baseURL }: { home: string; baseURL: string },
): Promise<ServerProcess> {
  const env = await makeHome(home, baseURL)
  return startServer([program, "serve", "--port", "0", "--quiet"], { env, cwd: home })
}

/** The most memory that the kernel has counted for a process. */
function peakMB(pid: number): number {
  const [, kibibytes] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  return (Number(kibibytes) * 1024) / 1e6
}
