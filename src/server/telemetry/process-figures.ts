import { monitorEventLoopDelay } from "node:perf_hooks"

/** Memory, processor time and event loop lag of the process. */
export interface ProcessFigures {
  startedAtSeconds: number
  cpuSeconds: number
  residentBytes: number
  heapUsedBytes: number
  heapTotalBytes: number
  /** How late timers fired since the last reading. Absent in the first reading. */
  lag?: { meanSeconds: number; p50Seconds: number; p99Seconds: number; maxSeconds: number }
}

const resolutionMs = 20

/**
 * Reads the metrics of the process. Measures the event loop only after the first reading, to cost nothing without it.
 */
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
    // The histogram contains the time between two ticks of its timer, so the timer's own interval is subtracted.
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
