import { copyFile } from "node:fs/promises"
import type { PartBody } from "../../../src/protocol/index.ts"
import type { Store } from "../../../src/stores/store.ts"
import type { Bench, Scratch } from "../../bench.ts"
import { sleep, watchLoop } from "../../measure.ts"
import { assistantMessage, makeIds } from "../content.ts"
import { Corpus, importCorpus } from "../corpus.ts"
import { openAnswer } from "../history.ts"
import { openStore, settle } from "../open-store.ts"
import { Run } from "../run.ts"

const commitEveryMs = 10
const partsPerCommit = 8
const stopMs = 15

/** The longest delay of the event loop while parts are indexed, beside the same writes without indexing. */
export async function benchIndexing(bench: Bench, scratch: Scratch, corpusPath: string): Promise<void> {
  bench.progress("copies the corpus, to write to it")
  const path = scratch.path("indexing.db")
  await copyFile(corpusPath, path)
  await using store = await openStore(path)
  await settle(store)
  const seconds = bench.quick ? 2 : 6
  const stops = { sealed: 0, open: 0 }
  for (let round = 0; round < 3; round++) {
    bench.progress(`writes with and without indexing, round ${round + 1}`)
    stops.open = Math.max(stops.open, await writeParts(store, { sealed: false, seconds, seed: 30 + round }))
    stops.sealed = Math.max(
      stops.sealed,
      await writeParts(store, { sealed: true, seconds, seed: 40 + round }),
    )
    await settle(store)
  }
  const backlog = bench.quick ? 2000 : 20_000
  bench.progress(`imports ${backlog.toLocaleString("en-US")} parts to be indexed`)
  await importCorpus(store, backlog, () => {})
  const stop = watchLoop()
  await settle(store)
  const idle = stop()
  const target = { under: stopMs }
  bench.add({ name: "longest stop, writing while indexing", value: stops.sealed, unit: "ms", target })
  bench.add({ name: "longest stop, writing without indexing", value: stops.open, unit: "ms" })
  const name = `longest stop, idle while ${backlog.toLocaleString("en-US")} parts are indexed`
  bench.add({ name, value: idle, unit: "ms", target })
}

interface Writing {
  /** Sealed messages are indexed immediately; parts of an open message are not. */
  sealed: boolean
  seconds: number
  seed: number
}

/** Writes some parts every 10 ms and returns the longest delay of the event loop. */
async function writeParts(store: Store, { sealed, seconds, seed }: Writing): Promise<number> {
  const ids = makeIds(seed)
  const corpus = new Corpus(100_000, seed)
  const { sessionID, message } = await openAnswer(store, ids)
  const run = await Run.claim(store, sessionID)
  if (sealed) await run.commit({ op: "message.seal", sessionID, messageID: message.id })
  const target = { sessionID, messageID: message.id }
  const end = performance.now() + seconds * 1000
  const stop = watchLoop()
  while (performance.now() < end) {
    await run.renewInTime()
    const parts = someParts(corpus)
    if (sealed) {
      const next = assistantMessage(ids, message.id)
      await run.commit({ op: "message.append", sessionID, message: next, parts, sealed: true })
    } else {
      const puts = parts.map((part) => ({ op: "part.put" as const, ...target, part }))
      await run.commit({ op: "part.truncate", ...target, keep: 1 }, ...puts)
    }
    await sleep(commitEveryMs)
  }
  return stop()
}

function someParts(corpus: Corpus): PartBody[] {
  const parts: PartBody[] = []
  while (parts.length < partsPerCommit) parts.push(...corpus.messageParts("assistant"))
  return parts
}
