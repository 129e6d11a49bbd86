/** A Stemma of the built package behind its server, with the heap settings of `stemma serve`. */
import { setImmediate } from "node:timers/promises"
import { keepHeapSmall } from "../../../src/cli/heap.ts"
import type { StemmaOptions } from "../../../src/index.ts"
import { answerParent } from "../child.ts"

keepHeapSmall()

const [directory, token, given] = process.argv.slice(2) as [string, string, string]
const { openStemma }: typeof import("../../../src/index.ts") = await import(`${directory}/dist/index.js`)
const { createServer }: typeof import("../../../src/server/index.ts") = await import(
  `${directory}/dist/server/index.js`
)

const onWarning = (error: unknown) => {
  throw error
}
const stemma = await openStemma({ ...(JSON.parse(given) as StemmaOptions), onWarning })
const server = createServer(stemma, { token, onWarning })
const { url } = await server.listen({ port: 0 })

let peakBytes = 0
let isSampling = false
function sample(): void {
  isSampling = true
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss())
  setTimeout(sample, 20)
}

const deferredTicks = 3

const handlers = {
  url: () => url,
  async createSession(options: { maxHistory?: number } = {}): Promise<string> {
    return (await stemma.sessions.create(options)).id
  },
  /** Waits until nothing runs and no work is pending, so that it does not count to the next timing. */
  async calm(sessionID: string): Promise<void> {
    while (stemma.status(sessionID).type !== "idle") await setImmediate()
    for (let i = 0; i < deferredTicks; i++) await setImmediate()
  },
  /** Also waits until the text is indexed, which uses a core for a while after a long answer. */
  async settle(sessionID: string): Promise<void> {
    await handlers.calm(sessionID)
    await stemma.store.search({ text: "nothing" })
  },
  /** Collects garbage and resets the peak, so that the peak is counted from the least memory. */
  collect(): number {
    globalThis.gc!()
    globalThis.gc!()
    peakBytes = process.memoryUsage.rss()
    if (!isSampling) sample()
    return peakBytes / 1e6
  },
  peakMB: (): number => Math.max(peakBytes, process.memoryUsage.rss()) / 1e6,
  cpuMs(): number {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
}
export type StemmaHandlers = typeof handlers
answerParent(handlers)
