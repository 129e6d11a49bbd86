import type { NewSession } from "../../../src/protocol/index.ts"
import type { Op } from "../../../src/stores/commit.ts"
import type { SessionQuery, Store } from "../../../src/stores/store.ts"
import { type Bench, scratchDirectory } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import { type Ids, makeIds, newSession } from "../content.ts"
import { openStore, settle } from "../open-store.ts"
import { seededRandom, zipf } from "../random.ts"
import { RawDatabase } from "../raw.ts"
import { Vocabulary } from "../vocabulary.ts"

const startMs = Date.UTC(2025, 0, 1)
const hourMs = 3_600_000
const rareTitle = "zephyrine"

/** A page of 50 of very many sessions, by every filter. */
export async function benchSessions(bench: Bench): Promise<void> {
  const count = bench.quick ? 5000 : 100_000
  await using scratch = await scratchDirectory()
  const path = scratch.path("store.db")
  bench.progress(`makes ${count.toLocaleString("en-US")} sessions`)
  let made: Made
  {
    await using store = await openStore(path)
    made = await makeSessions(store, makeIds(6), count)
    await settle(store)
  }
  await using store = await openStore(path)
  using raw = new RawDatabase(path)
  for (const filter of filters(made, count)) await benchFilter(bench, { store, raw, filter })
}

interface Made {
  /** A session with many children. */
  parentID: string
  key: string
}

async function makeSessions(store: Store, ids: Ids, count: number): Promise<Made> {
  const random = seededRandom(8)
  const vocabulary = new Vocabulary(9)
  const project = zipf(400, random)
  const agents = ["build", "build", "build", "plan", "explore", "review"]
  const parents: string[] = []
  let key = ""
  let ops: Op[] = []
  for (let number = 0; number < count; number++) {
    const created = startMs + number * 120_000
    const at = project()
    const fields: Partial<NewSession> = {
      projectID: `project-${at}`,
      directory: `/home/user/work/project-${at}${random() < 0.3 ? "/packages/core" : ""}`,
      title: title(vocabulary, number, count),
      time: { created, updated: created + Math.floor(random() * 48 * hourMs) },
    }
    if (random() < 0.7) fields.agent = agents[Math.floor(random() * agents.length)]
    if (random() < 0.2) {
      fields.key = `telegram:group:-100${number}`
      if (number < count / 2) key = fields.key
    }
    if (random() < 0.15) fields.time!.archived = created + 72 * hourMs
    if (parents.length > 0 && random() < 0.3) {
      // Some sessions have very many children, most of them few.
      const lucky = random() < 0.2 ? 0 : Math.floor(random() * parents.length)
      fields.parentID = parents[lucky]!
    }
    const session = newSession(ids, fields)
    if (number % 37 === 0) parents.push(session.id)
    ops.push({ op: "session.create", session, segment: ids.next("segment") })
    if (ops.length === 500 || number === count - 1) {
      await store.commit({ ops })
      ops = []
    }
  }
  return { parentID: parents[0]!, key }
}

/** A rare word is in the titles of only twenty sessions. */
function title(vocabulary: Vocabulary, number: number, count: number): string {
  const words = vocabulary.sentence(6)
  return number % Math.floor(count / 20) === 3 ? `${words} ${rareTitle}` : words
}

interface Filter {
  name: string
  query: SessionQuery
  /** The same as SQL, with names and ids looked up. */
  where: string
  order?: string
  limitMs: number
}

function filters({ parentID, key }: Made, count: number): Filter[] {
  const middle = startMs + (count / 2) * 120_000
  const project = (name: string) => `s.project = (SELECT key FROM names WHERE text = '${name}')`
  const agent = (name: string) => `s.agent = (SELECT key FROM names WHERE text = '${name}')`
  const folder = (path: string) => `s.directory = (SELECT key FROM names WHERE text = '${path}')`
  const titled = (text: string) => `instr(s.folded, '${text}') > 0`
  const directory = "/home/user/work/project-3"
  const indexed: Omit<Filter, "limitMs">[] = [
    { name: "newest first", query: {}, where: "1" },
    { name: "by time, in the middle", query: { updated: { to: middle } }, where: `s.updated < ${middle}` },
    {
      name: "by time, between two",
      query: { updated: { from: middle - 24 * hourMs, to: middle } },
      where: `s.updated < ${middle} AND s.updated >= ${middle - 24 * hourMs}`,
    },
    { name: "by time of creation", query: { order: "created" }, where: "1", order: "created" },
    { name: "project, large", query: { projectID: "project-0" }, where: project("project-0") },
    { name: "project, small", query: { projectID: "project-350" }, where: project("project-350") },
    // The session with many children is the first that was made.
    { name: "parent", query: { parentID }, where: "s.parent = 1" },
    { name: "agent", query: { agent: "build" }, where: agent("build") },
    { name: "agent, less used", query: { agent: "review" }, where: agent("review") },
    { name: "key", query: { key }, where: `s.name = '${key}'` },
  ]
  const scanned: Omit<Filter, "limitMs">[] = [
    { name: "title, common word", query: { title: "The" }, where: titled("the") },
    { name: "title, rare word", query: { title: rareTitle }, where: titled(rareTitle) },
    { name: "title, absent", query: { title: "xylotomous" }, where: titled("xylotomous") },
    {
      name: "title by creation, rare word",
      query: { title: rareTitle, order: "created" },
      where: titled(rareTitle),
      order: "created",
    },
    {
      name: "title in a project, absent",
      query: { title: "xylotomous", projectID: "project-0" },
      where: `${project("project-0")} AND ${titled("xylotomous")}`,
    },
    {
      name: "title of an agent, absent",
      query: { title: "xylotomous", agent: "build" },
      where: `${agent("build")} AND ${titled("xylotomous")}`,
    },
    {
      name: "title before a time, absent",
      query: { title: "xylotomous", updated: { to: middle } },
      where: `s.updated < ${middle} AND ${titled("xylotomous")}`,
    },
    {
      name: "title of roots, absent",
      query: { title: "xylotomous", parentID: null },
      where: `s.parent IS NULL AND ${titled("xylotomous")}`,
    },
    { name: "directory", query: { directory }, where: folder(directory) },
    {
      name: "directory by creation",
      query: { directory, order: "created" },
      where: folder(directory),
      order: "created",
    },
    { name: "archived", query: { archived: true }, where: "s.archived IS NOT NULL" },
    { name: "not archived", query: { archived: false }, where: "s.archived IS NULL" },
    {
      name: "archived in a project",
      query: { archived: true, projectID: "project-0" },
      where: `${project("project-0")} AND s.archived IS NOT NULL`,
    },
    { name: "without a parent", query: { parentID: null }, where: "s.parent IS NULL" },
    {
      name: "agent in a small project",
      query: { agent: "build", projectID: "project-350" },
      where: `${agent("build")} AND ${project("project-350")}`,
    },
    {
      name: "small project by creation",
      query: { projectID: "project-350", order: "created" },
      where: project("project-350"),
      order: "created",
    },
    {
      name: "agent by creation, less used",
      query: { agent: "review", order: "created" },
      where: agent("review"),
      order: "created",
    },
  ]
  return [
    ...indexed.map((filter) => ({ ...filter, limitMs: 1 })),
    ...scanned.map((filter) => ({ ...filter, limitMs: 15 })),
  ]
}

async function benchFilter(
  bench: Bench,
  { store, raw, filter }: { store: Store; raw: RawDatabase; filter: Filter },
): Promise<void> {
  const order = filter.order ?? "updated"
  const statement = raw.prepare(
    `SELECT s.*, d.data, t.seq, g.id FROM sessions s JOIN session_data d ON d.session = s.key
       JOIN tips t ON t.session = s.key JOIN segments g ON g.key = s.segment
      WHERE s.importing = 0 AND ${filter.where} ORDER BY s.${order} DESC, s.key DESC LIMIT 51`,
  )
  const expected = Math.min(50, statement.all().length)
  const timings = await interleave(
    {
      store: async () => {
        const { items } = await store.sessions(filter.query)
        if (items.length !== expected) {
          throw new Error(`${filter.name}: ${items.length} sessions were read, not ${expected}.`)
        }
      },
      raw: () => statement.all(),
    },
    { rounds: bench.quick ? 3 : 10, batch: 5 },
  )
  bench.add({
    name: filter.name,
    value: timings.store.medianMs,
    raw: timings.raw.medianMs,
    first: timings.store.firstMs,
    unit: "ms",
    target: { under: filter.limitMs },
  })
}
