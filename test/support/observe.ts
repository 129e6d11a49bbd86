import type { HistoryItem, Row, Session } from "../../src/protocol/index.ts"
import type { Scope, SearchHit, SearchQuery, SessionQuery, Store } from "../../src/stores/store.ts"
import { answerOf } from "./answers.ts"
import { sampleQueries, sampleSecrets } from "./samples.ts"

export interface ObserveOptions {
  /** Every session that ever existed. */
  sessionIDs: readonly string[]
  blobs: Iterable<string>
  nowMs: number
  queries?: readonly string[]
}

/** Everything that a reader can see of a store, through every read method. */
export async function observe(store: Store, options: ObserveOptions) {
  const sessions: Record<string, unknown> = {}
  for (const id of options.sessionIDs) sessions[id] = await observeSession(store, id)
  const blobs: Record<string, unknown> = {}
  for (const hash of options.blobs) blobs[hash] = await answerOf(() => store.blobs.size(hash))
  return {
    sessions,
    questions: await answerOf(() => store.permissions({ open: true })),
    listings: await observeListings(store, options),
    searches: await observeSearches(store, options.queries ?? sampleQueries),
    blobs,
  }
}

export async function observeSession(store: Store, id: string) {
  const session = await answerOf(() => store.session(id))
  if ("error" in session) return session
  const { left } = session.value.history
  return {
    session,
    tree: await answerOf(async () => idsOf(await store.tree(id))),
    parents: await answerOf(async () => idsOf(await store.parents(id))),
    history: await answerOf(() => store.history(id, { take: "start", limit: 1000 })),
    forward: await pageForward(store, id),
    backward: await pageBackward(store, id),
    compactions: await answerOf(() => store.history(id, { having: "compaction", limit: 2 })),
    prunes: await answerOf(() => store.history(id, { having: "prune", take: "start", limit: 2 })),
    left: await Promise.all(
      left.map((tail) => answerOf(() => store.history(id, { left: tail.segment, limit: 1000 }))),
    ),
    todos: await answerOf(() => store.todos(id)),
    permissions: await answerOf(() => store.permissions({ sessionID: id })),
    asked: await answerOf(() => store.permissions({ sessionID: id, open: true })),
    inbox: await answerOf(() => store.inbox(id)),
  }
}

const idsOf = (sessions: readonly Session[]) => sessions.map((session) => session.id)

async function pageForward(store: Store, id: string): Promise<HistoryItem[]> {
  const items: HistoryItem[] = []
  for (;;) {
    const page = await store.history(id, { from: items.length, take: "start", limit: 3 })
    items.push(...page.items)
    if (!page.more) return items
  }
}

async function pageBackward(store: Store, id: string): Promise<HistoryItem[]> {
  const items: HistoryItem[] = []
  for (;;) {
    const page = await store.history(id, { to: items[0]?.position, limit: 2 })
    items.unshift(...page.items)
    if (!page.more) return items
  }
}

async function observeListings(store: Store, { sessionIDs, nowMs }: ObserveOptions) {
  const queries: SessionQuery[] = [
    {},
    { order: "created" },
    { projectID: "one" },
    { directory: "/project" },
    { parentID: null },
    ...sessionIDs.slice(0, 3).map((parentID) => ({ parentID })),
    { agent: "build", order: "created" },
    { key: "telegram:1" },
    { archived: true },
    { archived: false, projectID: "two" },
    { updated: { from: nowMs - 3000 } },
    { updated: { to: nowMs - 3000 }, order: "created" },
    { title: "ALPHA" },
    { title: "配置", projectID: "one" },
    { title: "%" },
    ...sampleSecrets.map((share) => ({ share })),
  ]
  const listings: unknown[] = []
  for (const query of queries) listings.push([query, idsOf(await allSessions(store, query))])
  return listings
}

async function allSessions(store: Store, query: SessionQuery): Promise<Session[]> {
  const sessions: Session[] = []
  let cursor: string | undefined
  do {
    const page = await store.sessions({ ...query, limit: 3, cursor })
    sessions.push(...page.items)
    cursor = page.next
  } while (cursor !== undefined)
  return sessions
}

async function observeSearches(store: Store, texts: readonly string[]) {
  const found: unknown[] = []
  for (const text of texts) {
    for (const order of ["newest", "relevance"] as const) {
      found.push([text, order, await allHits(store, { text, order, limit: 4 })])
    }
  }
  return found
}

async function allHits(store: Store, query: SearchQuery): Promise<SearchHit[]> {
  const hits: SearchHit[] = []
  let cursor: string | undefined
  do {
    const page = await store.search({ ...query, cursor })
    hits.push(...page.hits)
    cursor = page.next
  } while (cursor !== undefined)
  return hits
}

/** Every row that changed after a cursor, page by page. */
export async function observeChanges(
  store: Store,
  { scope, since, limit }: { scope: Scope; since: string | undefined; limit: number },
): Promise<Row[]> {
  const rows: Row[] = []
  let cursor = since
  for (;;) {
    const page = await store.changes(scope, cursor, { limit })
    rows.push(...page.rows)
    if (page.more && page.cursor === cursor)
      throw new Error("`changes` has more, but its cursor does not move")
    cursor = page.cursor
    if (!page.more) return rows
  }
}
