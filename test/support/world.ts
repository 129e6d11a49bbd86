import type { HistoryItem, InboxItem, Session } from "../../src/protocol/index.ts"
import type { Commit, Op } from "../../src/stores/commit.ts"
import type { Lease, Store } from "../../src/stores/store.ts"
import { type Answer, answerOf, comparable, difference } from "./answers.ts"
import type { ManualClock } from "./clock.ts"
import type { Draw } from "./draw.ts"
import type { Ids } from "./ids.ts"

type Method = Exclude<
  { [K in keyof Store]-?: Store[K] extends (...args: never[]) => Promise<unknown> ? K : never }[keyof Store],
  "close" | "cursor" | "changes" | typeof Symbol.asyncDispose
>

/**
 * A store whose answers are correct by definition (the oracle), the stores that must answer like it (the subjects), and
 * what the random steps need to make sensible calls: the sessions and the leases.
 */
export interface World {
  readonly oracle: Store
  readonly subjects: () => readonly Store[]
  readonly clock: ManualClock
  readonly ids: Ids
  /** Visible sessions. */
  live: string[]
  removed: string[]
  /** When each of them was removed. */
  readonly removedAt: Map<string, number>
  importing: string[]
  /** The newest lease of each session; it may have expired. */
  readonly leases: Map<string, Lease>
  readonly admitted: InboxItem[]
  readonly blobs: Set<string>
  /** Cursors taken at the same moment: the oracle's first, then those of the subjects. */
  readonly moments: string[][]
  /** Every call so far, for the report of a failure. */
  readonly trace: string[]
  reopen(): Promise<void>
}

export function createWorld(
  options: Pick<World, "subjects" | "clock" | "ids" | "reopen"> & { oracle: () => Store },
): World {
  return {
    ...options,
    get oracle() {
      return options.oracle()
    },
    live: [],
    removed: [],
    removedAt: new Map(),
    importing: [],
    leases: new Map(),
    admitted: [],
    blobs: new Set(),
    moments: [],
    trace: [],
  }
}

/** Makes the same call on the oracle and on every subject, and fails unless the answers are equal. */
export async function ask<T>(
  world: World,
  label: string,
  call: (store: Store) => Promise<T>,
): Promise<Answer<T>> {
  world.trace.push(label)
  const answers: Answer<T>[] = []
  for (const store of [world.oracle, ...world.subjects()]) answers.push(await answerOf(() => call(store)))
  const expected = answers[0]!
  for (const [index, answer] of answers.entries()) {
    const found = index > 0 && difference(comparable(expected), comparable(answer))
    if (found) throw disagreement(world, found)
  }
  const cursors = answers.map((answer) => ("value" in answer ? cursorOf(answer.value) : undefined))
  if (cursors.every((cursor) => cursor !== undefined)) world.moments.push(cursors)
  return expected
}

function cursorOf(value: unknown): string | undefined {
  const cursor =
    typeof value === "object" && value !== null ? (value as { cursor?: unknown }).cursor : undefined
  return typeof cursor === "string" ? cursor : undefined
}

export function disagreement(world: World, found: string): Error {
  const subjects = world.subjects().map((store) => store.name)
  return new Error(`${subjects} disagrees with ${world.oracle.name} at ${found}`)
}

/** The same error with every call that led to it. */
export function withTrace(error: unknown, { trace }: World): Error {
  const reason = error instanceof Error ? error.message : String(error)
  return new Error(`${reason}\nafter:\n${trace.join("\n")}`, { cause: error })
}

export function call<M extends Method>(
  world: World,
  method: M,
  ...args: Parameters<Store[M]>
): Promise<Answer<Awaited<ReturnType<Store[M]>>>> {
  const label = `await store.${method}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`
  type Callable = (...args: unknown[]) => Promise<Awaited<ReturnType<Store[M]>>>
  return ask(world, label, (store) => (store[method] as unknown as Callable).apply(store, args))
}

export function commit(world: World, ops: Op[], rest: Omit<Commit, "ops"> = {}) {
  return call(world, "commit", { ops, ...rest })
}

/** The fence of a live lease on the session, claimed if there is none. */
export async function fenceOf(world: World, sessionID: string): Promise<Record<string, number>> {
  const known = world.leases.get(sessionID)
  if (known && known.expiresAt > world.clock.now()) return { [sessionID]: known.fence }
  const answer = await call(world, "claim", sessionID)
  if (!("value" in answer)) throw disagreement(world, `a claim that must work: ${answer.error}`)
  world.leases.set(sessionID, answer.value)
  return { [sessionID]: answer.value.fence }
}

/** Commits operations of the session's run under its lease. */
export async function commitRun(world: World, sessionID: string, ops: Op[]) {
  return commit(world, ops, { fences: await fenceOf(world, sessionID) })
}

export function passTime(world: World, ms: number): void {
  if (ms === 0) return
  world.trace.push(`clock.advance(${ms})`)
  world.clock.advance(ms)
}

export interface Seen {
  session: Session
  items: HistoryItem[]
  /** The last message, while it is open. */
  open: HistoryItem | undefined
}

/** A session as the oracle has it. */
export async function look(world: World, sessionID: string): Promise<Seen> {
  const session = await world.oracle.session(sessionID)
  const { items } = await world.oracle.history(sessionID, { take: "start", limit: 1000 })
  const last = items.at(-1)
  return { session, items, open: last && !last.sealed ? last : undefined }
}

/** A random visible session that fits, as the oracle has it. */
export async function drawSession(
  world: World,
  draw: Draw,
  fits: (seen: Seen) => boolean = () => true,
): Promise<Seen | undefined> {
  const start = draw.below(Math.max(world.live.length, 1))
  for (let i = 0; i < world.live.length; i++) {
    const seen = await look(world, world.live[(start + i) % world.live.length]!)
    if (fits(seen)) return seen
  }
  return undefined
}
