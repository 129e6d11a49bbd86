import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { createClient } from "../../src/client/index.ts"
import { home } from "../cli/program-process.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { soakTimes } from "../support/seed.ts"

const callers = 8
const memoryMaxMB = 250
const sampleMs = 250

/** The prompts go to the sessions in turn, so that a session that was dropped from memory is needed again. */
it.each([
  { prompts: soakTimes(20_000), sessions: 2500 },
  { prompts: soakTimes(40_000), sessions: 1600 },
])("a server stays small during $prompts prompts to $sessions sessions", async ({ prompts, sessions }) => {
  await using model = await startModelServer({ requestsKept: 0 })
  await using at = await home()
  await at.config({
    title: false,
    ...model.config("openai", { limit: { context: 10_000_000, output: 8192 } }),
  })
  const server = await at.serve()
  const client = createClient({ baseUrl: server.url, token: server.token })
  const ids: string[] = []
  for (let i = 0; i < sessions; i++) ids.push((await client.sessions.create()).id)
  const samples: number[] = []
  const sampler = setInterval(() => {
    void residentMB(server.child.pid!).then((value) => samples.push(value))
  }, sampleMs)
  let next = 0
  const ask = async () => {
    while (next < prompts) {
      const at = next++
      const reply = await client.session(ids[at % sessions]!).ask({ text: "say 20" })
      if (reply.text === "") throw new Error(`Prompt ${at} was not answered: ${JSON.stringify(reply)}`)
      if (at % 1000 === 999)
        process.stdout.write(`${at + 1} prompts: ${(await residentMB(server.child.pid!)).toFixed(0)} MB\n`)
    }
  }
  try {
    await Promise.all(Array.from({ length: callers }, ask))
  } finally {
    clearInterval(sampler)
  }
  expect(Math.max(...samples)).toBeLessThan(memoryMaxMB)
})

async function residentMB(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)])
  return (Number(stdout) * 1024) / 1e6
}
