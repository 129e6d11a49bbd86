/** Callers of a server: any number, each on its own connection. */
import { readFileSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { percentile } from "../../measure.ts"
import { Caller } from "../caller.ts"
import { answerParent } from "../child.ts"

/** The requests of one caller, sent one after the other. */
export interface CallerWork {
  path: string
  body: object
  times: number
}

export interface CallResult {
  /** From the first request to the last answer. */
  elapsedMs: number
  failed: number
  /** Of each call. */
  medianMs: number
  longestMs: number
}

export interface WaitResult {
  count: number
  medianMs: number
  p99Ms: number
  longestMs: number
  /** The most CPU time that the server's main thread used during one call; 0 where the kernel does not tell. */
  longestCpuMs: number
}

interface PingedServer {
  url: string
  token?: string
  path: string
  pid: number
}

const pingEveryMs = 5

let pinging: { stop: () => void; done: Promise<WaitResult> } | undefined

const handlers = {
  /** All callers begin at the same moment. With `warmPath` their connections are open before. */
  async call(
    server: { url: string; token?: string; warmPath?: string },
    work: CallerWork[],
  ): Promise<CallResult> {
    const callers = work.map(() => new Caller(server.url, server.token))
    const { warmPath } = server
    for (let at = 0; at < callers.length && warmPath !== undefined; at += 50) {
      await Promise.all(callers.slice(at, at + 50).map((caller) => caller.get(warmPath)))
    }
    const times: number[] = []
    let failed = 0
    const start = performance.now()
    await Promise.all(
      work.map(async ({ path, body, times: count }, index) => {
        for (let i = 0; i < count; i++) {
          const sent = performance.now()
          await callers[index]!.post(path, body).catch((error: unknown) => {
            if (failed++ < 3) process.stderr.write(`${String(error)}\n`)
          })
          times.push(performance.now() - sent)
        }
      }),
    )
    const elapsedMs = performance.now() - start
    for (const caller of callers) caller.close()
    return { elapsedMs, failed, medianMs: percentile(times, 0.5), longestMs: Math.max(...times) }
  },
  /** Begins to call a path again and again, each time on a new connection, as a monitor does. */
  startPinging(server: PingedServer): void {
    const stopping = new AbortController()
    pinging = { stop: () => stopping.abort(), done: ping(server, stopping.signal) }
  },
  /** How long each of those calls took. */
  async stopPinging(): Promise<WaitResult> {
    pinging!.stop()
    return pinging!.done
  },
}
export type CallerHandlers = typeof handlers
answerParent(handlers)

async function ping({ url, token, path, pid }: PingedServer, signal: AbortSignal): Promise<WaitResult> {
  const waits: number[] = []
  let longestCpuMs = 0
  while (!signal.aborted) {
    const caller = new Caller(url, token)
    const cpuMs = mainThreadCpuMs(pid)
    const start = performance.now()
    await caller.get(path)
    waits.push(performance.now() - start)
    longestCpuMs = Math.max(longestCpuMs, mainThreadCpuMs(pid) - cpuMs)
    caller.close()
    await delay(pingEveryMs)
  }
  return {
    count: waits.length,
    medianMs: percentile(waits, 0.5),
    p99Ms: percentile(waits, 0.99),
    longestMs: Math.max(...waits),
    longestCpuMs,
  }
}

function mainThreadCpuMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6
  } catch {
    return 0
  }
}
