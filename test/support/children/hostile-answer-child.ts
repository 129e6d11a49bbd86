/**
 * Serves a Stemma and prompts a session for each model, whose answer is hostile. After each answer it waits until its
 * memory is given back. Writes what happened and how much memory the process had.
 */
import { once } from "node:events"
import { readFileSync, writeFileSync, writeSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { openStemma, type Stemma, type StemmaOptions } from "../../../src/index.ts"
import { createServer } from "../../../src/server/index.ts"
import { dieWithParent } from "./lifeline.ts"

export interface HostileGo {
  directory: string
  data: string
  config: NonNullable<StemmaOptions["config"]>
  token: string
  /** Models whose packages are loaded before the memory is measured. */
  warm: string[]
  models: string[]
  /** The process waits at most this long until its memory is at most `restBytes` above the start. */
  restMs: number
  restBytes: number
  /** Lets V8 collect garbage early, as suits a server that runs for days. By default its heap grows first. */
  keepsHeapSmall: boolean
}

/** `ready` to be told what to do; then the address of the server. The parent answers when it has subscribed. */
export type HostileProgress = "ready" | { url: string }

export interface HostileReport {
  model: string
  error: string | undefined
  textLength: number
  calls: number
  /** How often the call was tried again. */
  retries: number
  ms: number
  /** The longest time in which the event loop did nothing else. */
  stallMs: number
  /** Bytes of memory: before the answer, the most during it, and after the wait. */
  before: number
  peak: number
  after: number
  restMs: number
}

function memory(name: "VmHWM" | "VmRSS"): number {
  const status = readFileSync("/proc/self/status", "utf8")
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)![1]) * 1024
}

/** The store indexes an answer soon after its end. */
const workAfterMs = 500

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void

async function work(go: HostileGo): Promise<void> {
  if (go.keepsHeapSmall) {
    setFlagsFromString("--semi-space-growth-factor=1")
    setFlagsFromString("--heap-growing-percent=30")
  }
  const { directory, data, config, token } = go
  const stemma = await openStemma({
    directory,
    data,
    env: { PATH: process.env.PATH, HOME: data },
    config,
    timing: { retryBaseMs: 10, retryMaxMs: 40 },
  })
  const server = createServer(stemma, { token, interactive: true })
  const { url } = await server.listen({ port: 0 })
  const subscribed = once(process, "message")
  process.send!({ url } satisfies HostileProgress)
  await subscribed
  for (const model of go.warm) await (await stemma.sessions.create({ model })).prompt("Hello")
  for (const model of go.models) {
    const report = await measured(stemma, model, go)
    writeSync(1, `${JSON.stringify(report)}\n`)
  }
  await server.close()
  await stemma.close()
  process.exit(0)
}

async function measured(stemma: Stemma, model: string, go: HostileGo): Promise<HostileReport> {
  // Garbage of the earlier answer must not count for this one. Nothing is collected by force while it is measured.
  collectGarbage()
  // The highest memory of the process counts from here.
  writeFileSync("/proc/self/clear_refs", "5")
  const before = memory("VmRSS")
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const startMs = performance.now()
  const session = await stemma.sessions.create({ model })
  const { textLength } = await prompted(session)
  const ms = performance.now() - startMs
  const stallMs = delay.max / 1e6
  delay.disable()
  const restingMs = performance.now()
  await sleep(workAfterMs)
  while (performance.now() - restingMs < go.restMs && memory("VmRSS") > before + go.restBytes)
    await sleep(250)
  const after = memory("VmRSS")
  const restMs = performance.now() - restingMs
  // Work that begins after the answer, such as that of the search index, counts too.
  const peak = memory("VmHWM")
  return { model, textLength, ...(await told(session)), ms, stallMs, before, peak, after, restMs }
}

type Session = Awaited<ReturnType<Stemma["sessions"]["create"]>>

/** A function of its own, so that the reply is not kept while the memory is measured. */
async function prompted(session: Session): Promise<{ textLength: number }> {
  const reply = await session.prompt("Go")
  return { textLength: reply.text.length }
}

async function told(session: Session): Promise<Pick<HostileReport, "error" | "calls" | "retries">> {
  const items = await session.messages({ last: 10 })
  const parts = items.flatMap((item) => item.parts)
  const error = items.flatMap(({ message }) => (message.role === "assistant" && message.error) || [])[0]
  return {
    error: error && "message" in error.data ? String(error.data.message) : undefined,
    calls: parts.filter((part) => part.type === "tool").length,
    retries: parts.filter((part) => part.type === "retry").length,
  }
}

function fail(error: unknown): void {
  writeSync(2, `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(1)
}

process.on("unhandledRejection", fail)
dieWithParent(1_800_000)
process.once("message", (go: HostileGo) => void work(go).catch(fail))
process.send!("ready" satisfies HostileProgress)
