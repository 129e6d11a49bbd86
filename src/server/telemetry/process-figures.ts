import { monitorEventLoopDelay } from "node:perf_hooks"

/** What the process uses. */
export interface ProcessFigures {
  startedAtSeconds: number
  cpuSeconds: number
  residentBytes: number
  heapUsedBytes: number
  heapTotalBytes: number
  /** By how much timers were late since the figures were read before; absent the first time. */
  lag?: { meanSeconds: number; p50Seconds: number; p99Seconds: number; maxSeconds: number }
}

const resolutionMs = 20

/** Reads what the process uses. The event loop is watched from the first reading on: nobody pays for it before. */
export class ProcessMeter {
  #delay: ReturnType<typeof monitorEventLoopDelay> | undefined

  read(): ProcessFigures {
    const { rss, heapUsed, heapTotal } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const lag = this.#lag()
    return {
      startedAtSeconds: performance.timeOrigin / 1000,
      cpuSeconds: (user + system) / 1e6,
      residentBytes: rss,
      heapUsedBytes: heapUsed,
      heapTotalBytes: heapTotal,
      ...(lag && { lag }),
    }
  }

  close(): void {
    this.#delay?.disable()
    this.#delay = undefined
  }

  #lag(): ProcessFigures["lag"] {
    if (!this.#delay) {
      this.#delay = monitorEventLoopDelay({ resolution: resolutionMs })
      this.#delay.enable()
      return undefined
    }
    const delay = this.#delay
    if (delay.count === 0) return undefined
    // It measures from one tick of its timer to the next, so what is in time takes as long as the timer.
    const late = (ns: number) => Math.max(0, ns / 1e9 - resolutionMs / 1000)
    const lag = {
      meanSeconds: late(delay.mean),
      p50Seconds: late(delay.percentile(50)),
      p99Seconds: late(delay.percentile(99)),
      maxSeconds: late(delay.max),
    }
    delay.reset()
    return lag
  }
}
