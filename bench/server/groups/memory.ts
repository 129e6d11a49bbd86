import { stat } from "node:fs/promises"
import { type Bench, scratchDirectory } from "../../bench.ts"
import { sleep } from "../../measure.ts"
import { startServer as startModel } from "../../run/model-server.ts"
import type { BuiltPackage } from "../built-package.ts"
import { Caller } from "../caller.ts"
import { makeHome } from "../home.ts"
import { residentMB, startServer } from "../server-process.ts"
import { token } from "../stage.ts"

/** When the server has nothing to do, V8 gives unused memory back after about ten seconds. */
const restMs = 15_000
/** The time after the last turn within which the log must be in the database. */
const logRestMs = 5000

/** The memory of `stemma serve` and the size of its database, after turns of one session and of many. */
export async function benchMemory(bench: Bench, built: BuiltPackage): Promise<void> {
  const sizes = bench.quick ? { few: 20, many: 50, sessions: 50 } : { few: 200, many: 1000, sessions: 1500 }
  await using scratch = await scratchDirectory()
  await using model = await startModel()
  const env = await makeHome(scratch.path("home"), model.baseURL)
  const program = [await built.path("bin/stemma.js"), "serve", "--port", "0", "--quiet"]
  await using server = await startServer(program, { env, cwd: env.HOME })
  using callers = openCallers(server.url)
  const caller = callers.list[0]!
  const memory = () => residentMB(server.pid)
  const add = async (what: string, under: number) => {
    const first = await memory()
    if (!bench.quick) await sleep(restMs)
    bench.add({ name: `memory after ${what}`, value: await memory(), first, unit: "MB", target: { under } })
  }

  const { id } = (await caller.post("/sessions", {})) as { id: string }
  const turns = async (count: number) => {
    for (let i = 0; i < count; i++) await caller.post(`/sessions/${id}/ask`, { text: prompt })
  }
  await turns(sizes.few)
  const stored = sleep(logRestMs).then(() => storedBytes(`${env.HOME}/.local/share/stemma/stemma.db`))
  await add(`${sizes.few} turns of one session`, 130)
  bench.add({
    name: `database and log, ${logRestMs / 1000} s after ${sizes.few} turns`,
    value: (await stored) / 1000,
    unit: "KB",
    target: { under: 300 },
  })
  await turns(sizes.many - sizes.few)
  await add(`${sizes.many.toLocaleString("en-US")} turns of one session`, 180)
  await turnsOfNewSessions(callers.list, sizes.sessions)
  await add(`a turn in each of ${sizes.sessions.toLocaleString("en-US")} further sessions`, 180)
}

/** A prompt to which the model answers with as many words. */
const prompt = "say 10"
const callersAtOnce = 4

function openCallers(url: string): Disposable & { list: Caller[] } {
  const list = Array.from({ length: callersAtOnce }, () => new Caller(url, token))
  return {
    list,
    [Symbol.dispose]() {
      for (const caller of list) caller.close()
    },
  }
}

async function turnsOfNewSessions(callers: readonly Caller[], sessions: number): Promise<void> {
  let left = sessions
  const work = async (caller: Caller) => {
    while (left-- > 0) {
      const { id } = (await caller.post("/sessions", {})) as { id: string }
      await caller.post(`/sessions/${id}/ask`, { text: prompt })
    }
  }
  await Promise.all(callers.map(work))
}

/** The bytes of a database with its log and the log's index. */
async function storedBytes(path: string): Promise<number> {
  let sum = 0
  for (const end of ["", "-wal", "-shm"]) {
    sum += await stat(path + end).then(
      ({ size }) => size,
      () => 0,
    )
  }
  return sum
}
