/**
 * Serves a Stemma and prompts two sessions: the first answer of the model server is short, the second is hostile. Then it
 * waits until its memory is given back. Writes what happened and how much memory the process had.
 */
import { once } from "node:events"
import { readFileSync, writeFileSync, writeSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { openStemma, type StemmaOptions } from "../../../src/index.ts"
import { createServer } from "../../../src/server/index.ts"
import { dieWithParent } from "./lifeline.ts"

export interface HostileGo {
  directory: string
  data: string
  config: NonNullable<StemmaOptions["config"]>
  /** The process waits at most this long until its memory is back below `restBytes` above the start. */
  restMs: number
  restBytes: number
}

export interface HostileReport {
  error: string | undefined
  textLength: number
  parts: number
  calls: number
  /** How often the call was tried again. */
  retries: number
  ms: number
  stallMs: number
  /** Bytes of memory: after the first answer, the most during the second, and after the wait. */
  before: number
  peak: number
  after: number
  restMs: number
}

export const hostileToken = "token-of-the-hostile-test"

function memory(name: "VmHWM" | "VmRSS"): number {
  const status = readFileSync("/proc/self/status", "utf8")
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)![1]) * 1024
}

async function work(go: HostileGo): Promise<void> {
  const { directory, data, config, restMs, restBytes } = go
  const stemma = await openStemma({
    directory,
    data,
    env: { PATH: process.env.PATH, HOME: data },
    config,
    timing: { retryBaseMs: 10, retryMaxMs: 40 },
  })
  const server = createServer(stemma, { token: hostileToken, interactive: true })
  const { url } = await server.listen({ port: 0 })
  const subscribed = once(process, "message")
  process.send!({ url })
  await subscribed
  const first = await stemma.sessions.create()
  await first.prompt("Hello")
  const session = await stemma.sessions.create()
  // The highest memory of the process counts from here.
  writeFileSync("/proc/self/clear_refs", "5")
  const before = memory("VmRSS")
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const startMs = performance.now()
  const reply = await session.prompt("Go")
  const ms = performance.now() - startMs
  const peak = memory("VmHWM")
  const stallMs = delay.max / 1e6
  const answers = (await session.messages({ last: 10 })).filter(({ message }) => message.role === "assistant")
  const parts = answers.flatMap((item) => item.parts)
  const error = answers.flatMap(({ message }) => (message.role === "assistant" && message.error) || [])[0]
  const report = {
    error: error && "message" in error.data ? String(error.data.message) : undefined,
    textLength: reply.text.length,
    parts: parts.length,
    calls: parts.filter((part) => part.type === "tool").length,
    retries: parts.filter((part) => part.type === "retry").length,
  }
  parts.length = answers.length = 0
  const restingMs = performance.now()
  while (performance.now() - restingMs < restMs && memory("VmRSS") > before + restBytes) await sleep(250)
  const rested = { after: memory("VmRSS"), restMs: performance.now() - restingMs }
  writeSync(
    1,
    `${JSON.stringify({ ...report, ms, stallMs, before, peak, ...rested } satisfies HostileReport)}\n`,
  )
  await server.close()
  await stemma.close()
  process.exit(0)
}

function fail(error: unknown): void {
  writeSync(2, `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(1)
}

process.on("unhandledRejection", fail)
dieWithParent(600_000)
process.once("message", (go: HostileGo) => void work(go).catch(fail))
process.send!("ready")
