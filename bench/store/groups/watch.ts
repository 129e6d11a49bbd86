import type { Store } from "../../../src/stores/store.ts"
import type { Bench } from "../../bench.ts"
import { percentile, sleep, systemMs } from "../../measure.ts"
import { startChild } from "../child.ts"
import type { WatchAnswer } from "../children/watch-child.ts"
import type { Ids } from "../content.ts"
import { openAnswer } from "../history.ts"
import { openStore } from "../open-store.ts"
import { seededRandom } from "../random.ts"
import { Run } from "../run.ts"

const commitsPerSecond = 20

/** How soon another process notices a commit, and what watching costs it. */
export async function benchWatch(bench: Bench, { path, ids }: { path: string; ids: Ids }): Promise<void> {
  const seconds = bench.quick ? 3 : 15
  await using store = await openStore(path)
  const own = await watched(store, { ids, path, way: "store", seconds })
  const raw = await watched(store, { ids, path, way: "raw", seconds })
  for (const [name, share, limit] of [
    ["median", 0.5, 10],
    ["p99", 0.99, 50],
  ] as const) {
    bench.add({
      name: `another process's commit seen, ${name}`,
      value: percentile(own.delays, share),
      raw: percentile(raw.delays, share),
      unit: "ms",
      target: { atMost: limit },
    })
  }
  bench.add({
    name: "watching, of a core",
    value: own.cpuPercent,
    raw: raw.cpuPercent,
    unit: "%",
    target: { under: 1.5 },
  })
}

interface Watching {
  ids: Ids
  path: string
  way: "store" | "raw"
  seconds: number
}

async function watched(
  store: Store,
  { ids, path, way, seconds }: Watching,
): Promise<{ delays: number[]; cpuPercent: number }> {
  const { sessionID, message, partID } = await openAnswer(store, ids)
  const run = await Run.claim(store, sessionID)
  const random = seededRandom(5)
  await using child = startChild<WatchAnswer>("watch-child.ts", [path, way])
  await child.ready
  const answer = child.go(seconds)
  const commits: { marks: string[]; atMs: number }[] = []
  const end = performance.now() + seconds * 1000
  const text = "a few more words "
  while (performance.now() < end) {
    await run.renewInTime()
    const atMs = systemMs()
    const { cursor, version } = await run.commit({
      op: "piece.add",
      sessionID,
      messageID: message.id,
      partID,
      field: "text",
      offset: commits.length * text.length,
      text,
    })
    commits.push({ marks: [cursor, String(version)], atMs })
    await sleep((1000 / commitsPerSecond) * (0.5 + random()))
  }
  const { seen, cpuPercent } = await answer
  return { delays: delaysOf(commits, seen), cpuPercent }
}

/** From the call of each commit until it, or a later one, is first noticed. */
function delaysOf(commits: { marks: string[]; atMs: number }[], seen: WatchAnswer["seen"]): number[] {
  const order = new Map<string, number>()
  for (const [index, { marks }] of commits.entries()) for (const mark of marks) order.set(mark, index)
  const delays: number[] = []
  for (const { mark, atMs } of seen) {
    const index = order.get(mark)
    if (index === undefined) continue
    while (delays.length <= index) delays.push(atMs - commits[delays.length]!.atMs)
  }
  if (delays.length < commits.length) {
    throw new Error(`Of ${commits.length} commits only ${delays.length} were seen.`)
  }
  return delays
}
