import type { PermissionRequest } from "../../protocol/index.ts"
import type { Engine } from "../engine.ts"

export interface Deadline {
  /** Resolves once the time is up. */
  readonly passed: Promise<"late">
  /** The time limit as text for people. */
  readonly limitText: string
  stop(): void
}

const checkEveryMinMs = 20
const timerMaxMs = 2 ** 31 - 1

/**
 * A time limit for a session and its descendants. The time pauses while one of them has an open permission question.
 */
export function startDeadline(
  engine: Engine,
  { rootID, limitMs }: { rootID: string; limitMs: number },
): Deadline {
  const { clock } = engine
  const passed = Promise.withResolvers<"late">()
  const startMs = clock.now()
  const start = performance.now()
  let timer: NodeJS.Timeout | undefined
  const wait = (ms: number) => {
    timer = setTimeout(checkNow, Math.min(timerMaxMs, Math.max(checkEveryMinMs, ms)))
  }
  const check = async () => {
    const elapsedMs = performance.now() - start
    const asked = await questionOpenMs(engine, { rootID, startMs })
    if (timer === undefined) return
    const leftMs = limitMs - (elapsedMs - asked)
    if (leftMs > 0) wait(leftMs)
    else passed.resolve("late")
  }
  // If the store fails, the run fails too, so the task need not wait any longer.
  const checkNow = () => void check().catch(() => passed.resolve("late"))
  wait(limitMs)
  return {
    passed: passed.promise,
    limitText: durationText(limitMs),
    stop() {
      clearTimeout(timer)
      timer = undefined
    },
  }
}

/** For how long at least one permission question of the sessions was open since the start. */
async function questionOpenMs(
  { store, clock }: Engine,
  { rootID, startMs }: { rootID: string; startMs: number },
): Promise<number> {
  const sessions = await store.tree(rootID)
  const asked = await Promise.all(sessions.map(({ id }) => store.permissions({ sessionID: id })))
  return unionMs(asked.flat(), { startMs, endMs: clock.now() })
}

function unionMs(
  requests: readonly PermissionRequest[],
  { startMs, endMs }: { startMs: number; endMs: number },
): number {
  const spans = requests
    .map(({ time }) => [Math.max(startMs, time.created), Math.min(endMs, time.replied ?? endMs)] as const)
    .filter(([from, to]) => to > from)
    .sort(([a], [b]) => a - b)
  let sum = 0
  let until = startMs
  for (const [from, to] of spans) {
    if (to <= until) continue
    sum += to - Math.max(from, until)
    until = to
  }
  return sum
}

function durationText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`
  return `${Math.round(ms / 60_000)} min`
}
