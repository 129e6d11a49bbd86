import { writeFile } from "node:fs/promises"
import { type Bench, scratchDirectory } from "../../bench.ts"
import { median, percentile, sleep } from "../../measure.ts"
import type { BuiltPackage } from "../built-package.ts"
import { Caller } from "../caller.ts"
import { startChild } from "../child.ts"
import type { ModelHandlers } from "../children/model.ts"
import { makeHome } from "../home.ts"
import { residentMB, type ServerProcess, startServer } from "../server-process.ts"
import { marksPrompt, token } from "../stage.ts"

/** The program that the figures are compared with: it answers every request, and prints its address. */
const bareServer = `import { createServer } from "node:http"
const server = createServer((request, response) => response.end("{}"))
server.listen(0, "127.0.0.1", () => console.log("http://127.0.0.1:" + server.address().port))
`

/** The wait until memory is stable. */
const restMs = 1000

/** The built package as `stemma serve`, from the start of its process. */
export async function benchStart(bench: Bench, built: BuiltPackage): Promise<void> {
  const rounds = bench.quick ? 2 : 15
  await using scratch = await scratchDirectory()
  await using model = await startChild<ModelHandlers>("model.ts")
  const env = await makeHome(scratch.path("home"), await model.ask("baseURL"))
  const bare = scratch.path("bare.mjs")
  await writeFile(bare, bareServer)
  const program = [await built.path("bin/stemma.js"), "serve", "--port", "0", "--quiet"]
  const start = (args: string[]) => startServer(args, { env, cwd: env.HOME })

  // The first start of all: nothing is in the compile cache, and there is no data.
  const cold = await timeStart(() => start(program), "/sessions")
  const times: Record<"bare" | "healthz" | "sessions", number[]> = { bare: [], healthz: [], sessions: [] }
  for (let round = 0; round <= rounds; round++) {
    const ways = {
      bare: () => timeStart(() => start([bare]), "/"),
      healthz: () => timeStart(() => start(program), "/healthz"),
      sessions: () => timeStart(() => start(program), "/sessions"),
    }
    for (const name of Object.keys(ways) as (keyof typeof ways)[]) {
      const ms = await ways[name]()
      if (round > 0) times[name].push(ms)
    }
  }
  for (const name of ["healthz", "sessions"] as const) {
    const figure = {
      value: median(times[name]),
      p90: percentile(times[name], 0.9),
      raw: median(times.bare),
      ...(name === "sessions" && { first: cold }),
      unit: "ms",
    }
    const what = `start to the first answer, GET /${name}`
    bench.add({ name: `${what}, beside a bare server`, ...figure, target: { timesRawAtMost: 4 } })
    bench.add({ name: what, ...figure, target: { under: 300 } })
  }
  await benchMemory(bench, { start: () => start(program), rounds: bench.quick ? 1 : 5 })
}

async function benchMemory(
  bench: Bench,
  { start, rounds }: { start: () => Promise<ServerProcess>; rounds: number },
): Promise<void> {
  const idle: number[] = []
  const afterTurn: number[] = []
  for (let round = 0; round < rounds; round++) {
    await using server = await start()
    const caller = new Caller(server.url, token)
    await caller.get("/sessions")
    await sleep(restMs)
    idle.push(await residentMB(server.pid))
    const { id } = (await caller.post("/sessions", {})) as { id: string }
    await caller.post(`/sessions/${id}/ask`, { text: marksPrompt({ marks: 50 }) })
    await sleep(restMs)
    afterTurn.push(await residentMB(server.pid))
    caller.close()
  }
  bench.add({ name: "memory when idle", value: median(idle), unit: "MB", target: { under: 100 } })
  bench.add({
    name: "memory after the first turn",
    value: median(afterTurn),
    unit: "MB",
    target: { under: 130 },
  })
}

/** From before the start of the process until its first answer. */
async function timeStart(start: () => Promise<ServerProcess>, path: string): Promise<number> {
  const startMs = performance.now()
  await using server = await start()
  const caller = new Caller(server.url, token)
  await caller.get(path)
  const ms = performance.now() - startMs
  caller.close()
  return ms
}
