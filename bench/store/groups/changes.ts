import type { Store } from "../../../src/stores/store.ts"
import { type Bench, scratchDirectory } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import { type Ids, makeIds, textPart, userMessage } from "../content.ts"
import { importSession, openAnswer } from "../history.ts"
import { openStore, settle } from "../open-store.ts"
import { RawDatabase } from "../raw.ts"
import { Run } from "../run.ts"
import { benchWatch } from "./watch.ts"

/** The changes after one commit, in a short and in a long history; and how soon another process notices a commit. */
export async function benchChanges(bench: Bench): Promise<void> {
  await using scratch = await scratchDirectory()
  const ids = makeIds(4)
  const path = scratch.path("store.db")
  const sizes = bench.quick ? ([100, 5000] as const) : ([100, 100_000] as const)
  {
    await using store = await openStore(path)
    const runs: Run[] = []
    for (const messages of sizes) {
      bench.progress(`imports ${messages.toLocaleString("en-US")} messages`)
      const { sessionID } = await importSession(store, ids, { messages })
      runs.push(await Run.claim(store, sessionID))
    }
    await settle(store)
    using raw = new RawDatabase(path)
    await benchAfterOne(bench, { store, raw, ids, runs, sizes })
    await benchLongAnswer(bench, store, ids)
  }
  await benchWatch(bench, { path, ids })
}

interface Setting {
  store: Store
  raw: RawDatabase
  ids: Ids
  runs: Run[]
  sizes: readonly [number, number]
}

async function benchAfterOne(bench: Bench, { store, raw, ids, runs, sizes }: Setting): Promise<void> {
  const bare = rawChanges(raw)
  let cursor = await store.cursor()
  const after = (run: Run) => async () => {
    const { rows } = await store.changes({ sessionID: run.sessionID }, cursor)
    if (rows.length !== 3) throw new Error(`${rows.length} rows changed.`)
  }
  const [short, long] = [after(runs[0]!), after(runs[1]!)]
  const timings = await interleave(
    { short, long, rawShort: () => bare(0), rawLong: () => bare(1) },
    {
      rounds: bench.quick ? 40 : 200,
      batch: 5,
      between: async () => {
        cursor = await store.cursor()
        for (const run of runs) {
          await run.renewInTime()
          await run.commit({
            op: "message.append",
            sessionID: run.sessionID,
            message: userMessage(ids),
            parts: [textPart(ids, "One more message of a few words.")],
            sealed: true,
          })
        }
      },
    },
  )
  for (const [name, own, other] of [
    [sizes[0], timings.short, timings.rawShort],
    [sizes[1], timings.long, timings.rawLong],
  ] as const) {
    bench.add({
      name: `after one commit, ${name.toLocaleString("en-US")} messages`,
      value: own.medianMs,
      raw: other.medianMs,
      unit: "ms",
    })
  }
  bench.add({
    name: `after one commit, ${sizes[1].toLocaleString("en-US")} against ${sizes[0]} messages`,
    value: timings.long.medianMs / timings.short.medianMs,
    unit: "times",
    target: { atMost: 1.3 },
  })
}

/** The same three rows by their keys. */
function rawChanges(db: RawDatabase): (index: number) => void {
  const keys = db.prepare("SELECT key FROM sessions ORDER BY key").all() as unknown as [number][]
  const session = db.prepare(
    "SELECT s.*, d.data, t.seq FROM sessions s JOIN session_data d ON d.session = s.key JOIN tips t ON t.session = s.key WHERE s.key = ?",
  )
  const place = db.prepare("SELECT segment, count FROM sessions WHERE key = ?")
  const message = db.prepare("SELECT * FROM messages WHERE segment = ? AND position >= ? AND version > ?")
  const part = db.prepare("SELECT * FROM parts WHERE segment = ? AND position >= ? AND version > ?")
  return (index) => {
    const [key] = keys[index]!
    session.get(key)
    const [segment, count] = place.get(key) as unknown as [number, number]
    message.all(segment, count - 1, 0)
    part.all(segment, count - 1, 0)
  }
}

/** One more piece of an answer that has very many pieces. */
async function benchLongAnswer(bench: Bench, store: Store, ids: Ids): Promise<void> {
  const pieces = bench.quick ? 500 : 5000
  const { sessionID, message, partID } = await openAnswer(store, ids)
  const run = await Run.claim(store, sessionID)
  const text = "some more words of a long answer "
  const add = (number: number) =>
    run.commit({
      op: "piece.add",
      sessionID,
      messageID: message.id,
      partID,
      field: "text",
      offset: number * text.length,
      text,
    })
  let number = 0
  for (; number < pieces; number++) {
    await run.renewInTime()
    await add(number)
  }
  let cursor = await store.cursor()
  const { changes } = await interleave(
    {
      changes: async () => {
        const { rows } = await store.changes({ sessionID }, cursor)
        if (rows.length !== 1) throw new Error(`${rows.length} rows changed.`)
      },
    },
    {
      rounds: 50,
      batch: 3,
      between: async () => {
        await run.renewInTime()
        cursor = await store.cursor()
        await add(number++)
      },
    },
  )
  const name = `after one piece, ${pieces.toLocaleString("en-US")} pieces before it`
  bench.add({ name, value: changes.medianMs, unit: "ms" })
}
