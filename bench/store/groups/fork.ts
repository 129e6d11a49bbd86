import { randomBytes } from "node:crypto"
import type { Store } from "../../../src/stores/store.ts"
import { type Bench, scratchDirectory } from "../../bench.ts"
import { interleave, type Timing } from "../../measure.ts"
import { type Ids, makeIds, newSession, textPart, userMessage } from "../content.ts"
import { importSession } from "../history.ts"
import { openStore, settle } from "../open-store.ts"
import { type RawDatabase, rawCopy, rowInserter } from "../raw.ts"

const page = 50

/** Forks of short and long histories, and the last page of a long one and of a fork of a fork of a fork. */
export async function benchFork(bench: Bench): Promise<void> {
  const sizes = bench.quick ? [100, 1000, 5000] : [100, 10_000, 100_000]
  const generations = bench.quick ? 200 : 1000
  await using scratch = await scratchDirectory()
  const ids = makeIds(3)
  const path = scratch.path("store.db")
  const sources: string[] = []
  let deepest: string
  let example: string
  {
    await using store = await openStore(path)
    for (const messages of sizes) {
      bench.progress(`imports ${messages.toLocaleString("en-US")} messages`)
      sources.push((await importSession(store, ids, { messages })).sessionID)
    }
    deepest = await forkOften(store, ids, { sourceID: sources[0]!, generations })
    example = await fork(store, ids, sources[0]!)
    await settle(store)
  }
  using raw = await rawCopy(path, scratch.path("raw.db"))
  await using store = await openStore(path)
  await benchForks(bench, { store, raw, ids, sources, sizes, example })
  const longest = sources.at(-1)!
  const long = sizes.at(-1)!.toLocaleString("en-US")
  await benchPage(bench, `last 50 of ${long} messages`, { store, raw, sessionID: longest, limitMs: 1 })
  const name = `last 50 of a ${generations.toLocaleString("en-US")}-fold fork`
  await benchPage(bench, name, { store, raw, sessionID: deepest, limitMs: 1.5 })
}

async function fork(store: Store, ids: Ids, sourceID: string): Promise<string> {
  const session = newSession(ids)
  await store.commit({
    ops: [{ op: "session.fork", sourceID, session, segment: ids.next("segment") }],
  })
  return session.id
}

/** A fork of a fork of a fork ..., each with one message of its own. */
async function forkOften(
  store: Store,
  ids: Ids,
  { sourceID, generations }: { sourceID: string; generations: number },
): Promise<string> {
  let source = sourceID
  for (let generation = 0; generation < generations; generation++) {
    const session = newSession(ids)
    await store.commit({
      ops: [
        { op: "session.fork", sourceID: source, session, segment: ids.next("segment") },
        {
          op: "message.append",
          sessionID: session.id,
          message: userMessage(ids),
          parts: [textPart(ids, `Generation ${generation} goes its own way from here.`)],
          sealed: true,
        },
      ],
    })
    source = session.id
  }
  return source
}

interface ForkSetting {
  store: Store
  raw: RawDatabase
  ids: Ids
  sources: string[]
  sizes: number[]
  /** A fork that is in the raw file too: the raw forks copy its rows. */
  example: string
}

async function benchForks(bench: Bench, setting: ForkSetting): Promise<void> {
  const { store, raw, ids, sources, sizes } = setting
  const session = await store.session(setting.example)
  const ways: Record<string, () => unknown> = { raw: rawFork(raw, session.history.segment) }
  for (const [index, sourceID] of sources.entries()) ways[sizes[index]!] = () => fork(store, ids, sourceID)
  const timings: Record<string, Timing> = await interleave(ways, {
    rounds: bench.quick ? 4 : 20,
    batch: 25,
    between: () => raw.checkpoint(),
  })
  const [short, long] = [sizes[0]!, sizes.at(-1)!]
  for (const size of sizes) {
    bench.add({
      name: `fork of ${size.toLocaleString("en-US")} messages`,
      value: timings[size]!.medianMs,
      raw: timings.raw!.medianMs,
      unit: "ms",
      target: size === long ? { under: 0.5 } : undefined,
    })
  }
  bench.add({
    name: `fork of ${long.toLocaleString("en-US")} against ${short} messages`,
    value: timings[long]!.medianMs / timings[short]!.medianMs,
    unit: "times",
    target: { atMost: 1.3 },
  })
}

/** Writes all rows of a fork once more under a new id. */
function rawFork(db: RawDatabase, segmentID: string): () => void {
  // The newest session of the file is the example.
  const session = db.row("SELECT * FROM sessions ORDER BY key DESC LIMIT 1")
  const key = session.key as number
  const segment = db.row("SELECT * FROM segments WHERE session = ?", key)
  if (segment.key !== session.segment) throw new Error(`${segmentID} is not the newest segment.`)
  const { key: _session, ...newSessionRow } = session
  const { key: _segment, ...newSegmentRow } = segment
  const sessions = rowInserter(db, "sessions", newSessionRow)
  const segments = rowInserter(db, "segments", newSegmentRow)
  const beside = ["session_data", "tips", "epochs"].map((table) =>
    rowInserter(db, table, db.row(`SELECT * FROM ${table} WHERE session = ?`, key)),
  )
  const title = db.prepare("INSERT INTO untitled (session) VALUES (?)")
  const tip = db.prepare("SELECT seq, fence, expires FROM tips WHERE session = ?")
  const newest = db.prepare("SELECT max(version) FROM tips")
  const source = db.prepare(
    "SELECT s.project, s.directory, s.agent, d.data FROM sessions s JOIN session_data d ON d.session = s.key WHERE s.key = ?",
  )
  const point = db.prepare("UPDATE sessions SET segment = ? WHERE key = ?")
  return () =>
    db.transaction(() => {
      tip.get(key)
      source.get(key)
      const version = (newest.get() as unknown as [number])[0] + 1
      const made = sessions({ id: randomBytes(16), version })
      const own = segments({ id: randomBytes(16), session: made })
      point.run(own, made)
      for (const insert of beside) insert({ session: made, version })
      title.run(made)
    })
}

interface PageSetting {
  store: Store
  raw: RawDatabase
  sessionID: string
  limitMs: number
}

async function benchPage(bench: Bench, name: string, setting: PageSetting): Promise<void> {
  const { store, raw, sessionID } = setting
  const { history } = await store.session(sessionID)
  const bare = rawPage(raw, history.count)
  const timings = await interleave(
    {
      store: async () => {
        const { items } = await store.history(sessionID, { limit: page })
        if (items.length !== page) throw new Error(`${items.length} messages were read.`)
      },
      raw: bare,
    },
    { rounds: bench.quick ? 5 : 20, batch: 25 },
  )
  bench.add({
    name,
    value: timings.store.medianMs,
    raw: timings.raw.medianMs,
    first: timings.store.firstMs,
    unit: "ms",
    target: { under: setting.limitMs },
  })
}

/** The same rows by one query for the messages and one for their parts, walking back over the segments. */
function rawPage(db: RawDatabase, count: number): () => void {
  const spans = `WITH RECURSIVE span (segment, lower, upper) AS (
      SELECT g.key, g.base, s.count FROM sessions s JOIN segments g ON g.key = s.segment WHERE s.key = ?1 UNION ALL
      SELECT below.key, below.base, span.lower FROM span JOIN segments g ON g.key = span.segment
        JOIN segments below ON below.key = g.parent WHERE span.lower > ?2)`
  const messages = db.prepare(
    `${spans} SELECT m.position, m.id, m.version, m.constants, m.data FROM span JOIN messages m
       ON m.segment = span.segment AND m.position >= max(span.lower, ?2) AND m.position < span.upper`,
  )
  const parts = db.prepare(
    `${spans} SELECT p.position, p.place, p.id, p.version, p.kind, p.data FROM span JOIN parts p
       ON p.segment = span.segment AND p.position >= max(span.lower, ?2) AND p.position < span.upper`,
  )
  const key = db.prepare("SELECT key FROM sessions WHERE count = ? ORDER BY key LIMIT 1").get(count)
  const [session] = key as unknown as [number]
  return () => {
    for (const statement of [messages, parts]) {
      const rows = statement.all(session, count - page) as unknown as unknown[][]
      if (rows.length < page) throw new Error(`${rows.length} rows were read.`)
      for (const row of rows) JSON.parse(row.at(-1) as string)
    }
  }
}
