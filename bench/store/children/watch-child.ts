/**
 * Watches a store, or with "raw" only its log file, and reports when it noticed each commit and what the watching cost.
 */
import { watch } from "node:fs"
import { measureUsage, sleep, systemMs } from "../../measure.ts"
import { answerParent } from "../child.ts"
import { openStore } from "../open-store.ts"
import { RawDatabase } from "../raw.ts"

export interface WatchAnswer {
  /** What it noticed and when; the mark is a store's cursor, or a version. */
  seen: { mark: string; atMs: number }[]
  cpuPercent: number
}

const [path, way] = process.argv.slice(2) as [string, string]
if (way === "raw") await watchRaw()
else await watchStore()

async function watchStore(): Promise<void> {
  await using store = await openStore(path)
  const seen: WatchAnswer["seen"] = []
  const stop = store.watch(({ cursor }) => {
    seen.push({ mark: cursor, atMs: systemMs() })
  })
  await answerParent((seconds) => answerAfter(seconds, seen))
  stop()
}

async function watchRaw(): Promise<void> {
  using db = new RawDatabase(path)
  const seen: WatchAnswer["seen"] = []
  const newest = db.prepare("SELECT max(version) FROM tips")
  const watcher = watch(`${path}-wal`, () => {
    const mark = String((newest.get() as unknown as [number])[0])
    if (mark !== seen.at(-1)?.mark) seen.push({ mark, atMs: systemMs() })
  })
  await answerParent((seconds) => answerAfter(seconds, seen))
  watcher.close()
}

async function answerAfter(seconds: number, seen: WatchAnswer["seen"]): Promise<WatchAnswer> {
  const used = measureUsage()
  await sleep(seconds * 1000)
  const { cpuPercent } = used()
  await sleep(500)
  return { seen, cpuPercent }
}
