import { monitorEventLoopDelay } from "node:perf_hooks"

export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** One operation to be timed; the number counts up from 0. */
export type Operation = (index: number) => unknown

export interface Timing {
  medianMs: number
  p90Ms: number
  p99Ms: number
  /** The very first call, before any warm-up. */
  firstMs: number
}

export interface InterleaveOptions {
  rounds: number
  /** Operations of each kind in a round. */
  batch: number
  /** Rounds that only warm up: 1 by default. */
  warmUpRounds?: number
  /** Runs between two batches and is not timed. */
  between?: () => unknown
}

/** Times several ways of doing a thing alternately, so that all have the same machine. */
export async function interleave<Name extends string>(
  ways: Record<Name, Operation>,
  options: InterleaveOptions,
): Promise<Record<Name, Timing>> {
  const names = Object.keys(ways) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  const first = {} as Record<Name, number>
  const { warmUpRounds = 1 } = options
  // Once only, because a full collection also discards what the compiler has learnt.
  collectGarbage()
  for (let round = 0; round < warmUpRounds + options.rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      await options.between?.()
      for (let i = 0; i < options.batch; i++) {
        const ms = await timeOnce(ways[name], round * options.batch + i)
        first[name] ??= ms
        if (round >= warmUpRounds) times[name].push(ms)
      }
    }
  }
  return Object.fromEntries(
    names.map((name) => [
      name,
      {
        medianMs: median(times[name]),
        p90Ms: percentile(times[name], 0.9),
        p99Ms: percentile(times[name], 0.99),
        firstMs: first[name],
      },
    ]),
  ) as Record<Name, Timing>
}

async function timeOnce(operation: Operation, index: number): Promise<number> {
  const start = performance.now()
  const result = operation(index)
  if (result instanceof Promise) await result
  return performance.now() - start
}

/** Collects garbage, so that a timing does not include earlier work. Needs `--expose-gc`. */
function collectGarbage(): void {
  globalThis.gc?.()
}

export interface Usage {
  elapsedMs: number
  /** CPU time of all threads of this process, as a percentage of one core. */
  cpuPercent: number
}

/** Starts to measure; the returned function gives the CPU time since then. */
export function measureUsage(): () => Usage {
  const cpu = process.cpuUsage()
  const start = performance.now()
  return () => {
    const elapsedMs = performance.now() - start
    const used = process.cpuUsage(cpu)
    return { elapsedMs, cpuPercent: ((used.user + used.system) / 1000 / elapsedMs) * 100 }
  }
}

/** Samples the event loop with a timer of 1 ms; the returned function gives the longest delay since then. */
export function watchLoop(): () => number {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  return () => {
    delay.disable()
    return Math.max(0, delay.max / 1e6 - 1)
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** The system's monotonic clock, which all processes share. */
export function systemMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
