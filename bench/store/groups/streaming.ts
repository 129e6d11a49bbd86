import type { Bench, Scratch } from "../../bench.ts"
import { measureUsage, percentile, sleep, type Usage } from "../../measure.ts"
import { makeIds } from "../content.ts"
import { openAnswer } from "../history.ts"
import { openStore } from "../open-store.ts"
import { seededRandom } from "../random.ts"
import { type RawDatabase, rawCopy } from "../raw.ts"
import { Run } from "../run.ts"

const sessions = 100
const flushMs = 50
/** The number of deltas between two flushes, evenly spread. */
const bitsPerFlush = 5
const text = "and the next few words of it "

/** Many sessions stream at the same time: the cost, and how long text waits until it is durable. */
export async function benchStreaming(bench: Bench, scratch: Scratch): Promise<void> {
  const ids = makeIds(2)
  const path = scratch.path("streaming.db")
  const seconds = bench.quick ? 2 : 10
  {
    await using store = await openStore(path)
    for (let i = 0; i < sessions; i++) await openAnswer(store, ids)
  }
  using raw = await rawCopy(path, scratch.path("raw-streaming.db"))
  await using store = await openStore(path)
  const page = await store.sessions({ limit: sessions })
  const flushes: ((producedMs: number[]) => Promise<void>)[] = []
  const waits: number[] = []
  const runs: Run[] = []
  for (const session of page.items) {
    const history = await store.history(session.id, { limit: 1 })
    const item = history.items[0]!
    const target = { sessionID: session.id, messageID: item.message.id, partID: item.parts[0]!.id }
    const run = await Run.claim(store, session.id)
    runs.push(run)
    let offset = 0
    flushes.push(async (producedMs) => {
      const at = offset
      offset += text.length
      await run.commit({ op: "piece.add", ...target, field: "text", offset: at, text })
      const now = performance.now()
      for (const ms of producedMs) waits.push(now - ms)
    })
  }
  await stream(flushes, 1)
  waits.length = 0
  const renewing = setInterval(() => {
    for (const run of runs) run.renewInTime().catch((error) => bench.progress(String(error)))
  }, 500)
  const own = await stream(flushes, seconds)
  clearInterval(renewing)
  const bare = await stream(rawFlushes(raw), seconds)
  bench.add({
    name: "100 sessions streaming, of a core",
    value: own.cpuPercent,
    raw: bare.cpuPercent,
    unit: "%",
    target: { atMost: 15 },
  })
  bench.add({
    name: "100 sessions streaming, commits",
    value: waits.length / bitsPerFlush / seconds,
    unit: "/s",
  })
  bench.add({
    name: "100 sessions streaming, durable, p99",
    value: percentile(waits, 0.99),
    unit: "ms",
    target: { atMost: 110 },
  })
  bench.add({ name: "100 sessions streaming, durable, longest", value: percentile(waits, 1), unit: "ms" })
}

/** Flushes each session every 50 ms, beginning at a random moment; text is produced all the time. */
async function stream(
  flushes: readonly ((producedMs: number[]) => Promise<void>)[],
  seconds: number,
): Promise<Usage> {
  const random = seededRandom(7)
  const timers: NodeJS.Timeout[] = []
  const pending = new Set<Promise<void>>()
  let failure: unknown
  await sleep(flushMs)
  const used = measureUsage()
  for (const flush of flushes) {
    const begin = () => {
      let lastMs = performance.now()
      const timer = setInterval(() => {
        const now = performance.now()
        const bits = Array.from(
          { length: bitsPerFlush },
          (_, bit) => lastMs + ((now - lastMs) * (bit + 0.5)) / bitsPerFlush,
        )
        lastMs = now
        const flushed = flush(bits)
        pending.add(flushed)
        flushed.then(
          () => pending.delete(flushed),
          (error) => {
            failure = error
          },
        )
      }, flushMs)
      timers.push(timer)
    }
    setTimeout(begin, random() * flushMs)
  }
  await sleep(seconds * 1000)
  const usage = used()
  for (const timer of timers) clearInterval(timer)
  await Promise.allSettled(pending)
  if (failure !== undefined) throw failure
  return usage
}

function rawFlushes(db: RawDatabase): (() => Promise<void>)[] {
  const rows = db.prepare("SELECT key, segment FROM sessions").all() as unknown as [number, number][]
  const tip = db.prepare("SELECT seq, fence, expires FROM tips WHERE session = ?")
  const newest = db.prepare("SELECT max(version) FROM tips")
  const insert = db.prepare("INSERT INTO pieces (key, place, version, offset, text) VALUES (?, 0, ?, ?, ?)")
  const touch = db.prepare("UPDATE tips SET seq = ?, version = ? WHERE session = ?")
  return rows.map(([session, segment]) => {
    let number = 0
    return async () =>
      db.transaction(() => {
        const [seq] = tip.get(session) as unknown as [number]
        const version = (newest.get() as unknown as [number])[0] + 1
        insert.run(segment * 2 ** 22 + number, version, number * text.length, text)
        number += 1
        touch.run(seq + 1, version, session)
      })
  })
}
