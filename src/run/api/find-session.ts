import { type Session, StemmaError } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"

/** A session by its id; undefined if no session has the id, or if it is not the id of a session. */
export async function findSession(store: Store, id: string): Promise<Session | undefined> {
  try {
    return await store.session(id)
  } catch (error) {
    if (StemmaError.is(error, "not_found") || StemmaError.is(error, "invalid")) return undefined
    throw error
  }
}
