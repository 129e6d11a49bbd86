import { StemmaError } from "../../protocol/index.ts"
import type { Scope, Store } from "../../stores/store.ts"

/** Where a session belongs. The location of a session never changes. */
export interface SessionLocation {
  directory: string
  /** The ids of the session and of its ancestors. */
  path: readonly string[]
}

const locationsMax = 10_000

export function isInScope(
  scope: Scope | undefined,
  sessionID: string,
  location: SessionLocation | undefined,
): boolean {
  if (scope === undefined) return true
  if ("sessionID" in scope) return scope.sessionID === sessionID
  if (location === undefined) return false
  return "directory" in scope ? scope.directory === location.directory : location.path.includes(scope.treeID)
}

/** A cache of session locations. */
export class SessionLocations {
  readonly #store: Store
  readonly #known = new Map<string, SessionLocation>()

  constructor(store: Store) {
    this.#store = store
  }

  get(sessionID: string): SessionLocation | undefined {
    return this.#known.get(sessionID)
  }

  /** Undefined if the store knows nothing of the session any more. */
  async load(sessionID: string): Promise<SessionLocation | undefined> {
    const known = this.#known.get(sessionID)
    if (known) return known
    const found = await this.#read(sessionID)
    if (!found) return undefined
    const above = found.parentID === undefined ? undefined : await this.load(found.parentID)
    const location = { directory: found.directory, path: [sessionID, ...(above?.path ?? [])] }
    if (this.#known.size >= locationsMax) this.#known.delete(this.#known.keys().next().value!)
    this.#known.set(sessionID, location)
    return location
  }

  /** A deleted session is still known by its `removed` row. */
  async #read(sessionID: string): Promise<{ directory: string; parentID?: string } | undefined> {
    try {
      return await this.#store.session(sessionID)
    } catch (error) {
      if (!StemmaError.is(error, "not_found")) throw error
    }
    try {
      const { rows } = await this.#store.changes({ sessionID })
      return rows.find((row) => row.type === "removed")
    } catch (error) {
      if (StemmaError.is(error, "not_found")) return undefined
      throw error
    }
  }
}
