import type { Replica } from "../../../src/client/index.ts"
import type { HistoryItem, Store } from "../../../src/index.ts"
import { viewPermissions } from "../../../src/session/replica/view.ts"
import { comparable, difference } from "../answers.ts"
import { emptyReplica, pullAll, replicaDifference } from "../replica.ts"
import { waitMsMax } from "../run-scene.ts"

/** The stored state of a session, as far as a replica shows it. */
export async function storeState(store: Store, sessionID: string): Promise<{ items: unknown[] }> {
  const { items } = await store.history(sessionID, { take: "start", limit: 1000 })
  const { seq: _, ...session } = await store.session(sessionID)
  return comparable({
    session,
    items: withoutVersions(items),
    todos: await store.todos(sessionID),
    inbox: await store.inbox(sessionID),
    questions: await store.permissions({ sessionID, open: true }),
  }) as { items: unknown[] }
}

export function replicaState(replica: Replica): unknown {
  const { view } = replica
  const { seq: _, ...session } = view.session ?? { seq: 0 }
  return comparable({
    session,
    items: withoutVersions(replica.messages()),
    todos: view.todos,
    inbox: view.inbox,
    questions: viewPermissions(view, { open: true }),
  })
}

function withoutVersions(items: readonly HistoryItem[]): Omit<HistoryItem, "version">[] {
  return items.map(({ version: _, ...item }) => item)
}

/**
 * Fails unless each replica reaches exactly the state of the store, from its first loaded message on, and a replica
 * made of the store's rows alone does too.
 */
export async function expectSame(
  store: Store,
  sessionID: string,
  replicas: Record<string, Replica>,
): Promise<void> {
  const expected = await storeState(store, sessionID)
  const fresh = emptyReplica({ sessionID })
  await pullAll(fresh, store)
  const found = await replicaDifference(fresh, store, sessionID)
  if (found) throw new Error(`A replica of the rows alone differs: ${found}`)
  const end = performance.now() + waitMsMax
  for (const [name, replica] of Object.entries(replicas)) {
    for (;;) {
      const wanted = { ...expected, items: expected.items.slice(replica.older) }
      const differs = difference(wanted, replicaState(replica))
      if (replica.isLive && !differs) break
      if (performance.now() > end) {
        const state = `isLive ${replica.isLive}, ${replica.status.type}, ${replica.error ?? "no error"}`
        throw new Error(`Replica ${name} of ${sessionID} (${state}) differs: ${differs}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}
