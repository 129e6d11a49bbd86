import type { HistoryItem } from "../../src/protocol/index.ts"
import { StemmaError } from "../../src/protocol/index.ts"
import { reducePage, reduceRow } from "../../src/session/replica/reduce.ts"
import {
  emptyView,
  missing,
  type SessionView,
  viewMessages,
  viewPermissions,
} from "../../src/session/replica/view.ts"
import type { Scope, Store } from "../../src/stores/store.ts"
import { comparable, difference } from "./answers.ts"
import type { Draw } from "./draw.ts"

/** A client's copy of the sessions in a scope. It reads the store only through `changes` and pages of histories. */
export interface Replica {
  scope: Scope
  cursor: string | undefined
  views: Map<string, SessionView>
}

export function emptyReplica(scope: Scope): Replica {
  return { scope, cursor: undefined, views: new Map() }
}

/** One pull over a bad connection: a few pages, of which some rows are lost and some arrive twice. */
export async function pullSome(replica: Replica, store: Store, draw: Draw): Promise<void> {
  const pages = 1 + draw.below(3)
  for (let page = 0; page < pages; page++) {
    const changes = await changesOf(replica, store, 1 + draw.below(6))
    if (!changes) return
    // The connection breaks after some of the rows, or after all rows but before the cursor was stored.
    const drops = draw.chance(30)
    const received = drops ? changes.rows.slice(0, draw.below(changes.rows.length + 1)) : changes.rows
    for (const row of received) reduceRow(viewOf(replica, row.sessionID), row)
    if (drops) return
    replica.cursor = changes.cursor
    if (!changes.more) break
  }
  if (draw.chance(50)) await pageIn(replica, store, 1 + draw.below(4))
}

/** One pull over a good connection. */
export async function pullAll(replica: Replica, store: Store): Promise<void> {
  for (;;) {
    const changes = await changesOf(replica, store, 4)
    if (!changes) return
    for (const row of changes.rows) reduceRow(viewOf(replica, row.sessionID), row)
    replica.cursor = changes.cursor
    if (!changes.more) break
  }
  await pageIn(replica, store, 3)
}

/** A tombstone expires: after that, a removed session is not found. */
async function changesOf(replica: Replica, store: Store, limit: number) {
  try {
    return await store.changes(replica.scope, replica.cursor, { limit })
  } catch (error) {
    if (StemmaError.is(error, "not_found")) return undefined
    throw error
  }
}

function viewOf(replica: Replica, sessionID: string): SessionView {
  let view = replica.views.get(sessionID)
  if (!view) {
    view = emptyView()
    replica.views.set(sessionID, view)
  }
  return view
}

async function pageIn(replica: Replica, store: Store, limit: number): Promise<void> {
  for (const [sessionID, view] of replica.views) {
    for (let rounds = 0; ; rounds++) {
      const range = missing(view)[0]
      if (!range) break
      if (rounds > 300)
        throw new Error(`Paging in does not end: ${sessionID} still lacks ${JSON.stringify(range)}`)
      try {
        reducePage(view, await store.history(sessionID, { ...range, take: "start", limit }))
      } catch (error) {
        // The session was removed, and the replica has not read its tombstone yet.
        if (StemmaError.is(error, "not_found")) break
        throw error
      }
    }
  }
}

/** The first difference between the replica and the store for a session; undefined if there is none. */
export async function replicaDifference(
  replica: Replica,
  store: Store,
  sessionID: string,
): Promise<string | undefined> {
  const view = replica.views.get(sessionID)
  if (!view) return `${sessionID} is not in the replica`
  const { seq: _seq, ...session } = await store.session(sessionID)
  const { seq: _seen, ...seen } = view.session ?? { seq: 0 }
  const { items } = await store.history(sessionID, { take: "start", limit: 1000 })
  const expected = {
    session,
    items: withoutVersions(items),
    todos: await store.todos(sessionID),
    inbox: await store.inbox(sessionID),
    permissions: await store.permissions({ sessionID }),
    removed: false,
  }
  const actual = {
    session: seen,
    items: withoutVersions(viewMessages(view)),
    todos: view.todos,
    inbox: view.inbox,
    permissions: viewPermissions(view),
    removed: view.removed,
  }
  const found = difference(comparable(expected), comparable(actual))
  return found && `${sessionID} ${found}`
}

function withoutVersions(items: readonly HistoryItem[]): Omit<HistoryItem, "version">[] {
  return items.map(({ version: _version, ...item }) => item)
}
