/** Prompts this many sessions at the same moment. */
import { readFileSync } from "node:fs"
import { answerParent } from "../child.ts"
import { openBenchStemma, setupFromArgs } from "../setup.ts"
import { turn } from "../turns.ts"

export interface AtOnceAnswer {
  failed: number
  peakMB: number
  /** Before the first prompt, after the sessions were made. */
  beforeMB: number
  elapsedMs: number
  cpuMs: number
}

const sampleEveryMs = 50

const stemma = await openBenchStemma(setupFromArgs())
const count = Number(process.argv[5])
const sessions = await Promise.all(Array.from({ length: count }, () => stemma.sessions.create()))
const beforeMB = process.memoryUsage.rss() / 1e6
let peakMB = beforeMB
const sample = () => {
  peakMB = Math.max(peakMB, process.memoryUsage.rss() / 1e6)
}
const timer = setInterval(sample, sampleEveryMs)
const cpu = process.cpuUsage()
const start = performance.now()
const settled = await Promise.allSettled(sessions.map((session) => turn(session)))
const elapsedMs = performance.now() - start
const { user, system } = process.cpuUsage(cpu)
await stemma.close()
clearInterval(timer)
sample()
const failures = settled.filter((result) => result.status === "rejected")
for (const { reason } of failures.slice(0, 3)) console.error(reason)
const answer: AtOnceAnswer = {
  failed: failures.length,
  peakMB: Math.max(peakMB, kernelPeakMB()),
  beforeMB,
  elapsedMs,
  cpuMs: (user + system) / 1000,
}
await answerParent(answer)

/** What the kernel has counted between two samples, where it reports it. */
function kernelPeakMB(): number {
  try {
    const [, kibibytes] = /^VmHWM:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8")) ?? []
    return (Number(kibibytes ?? 0) * 1024) / 1e6
  } catch {
    return 0
  }
}
