import type { StoreReader } from "../../../run/index.ts"
import { ifFound } from "../../../stores/if-found.ts"

export interface SessionLocation {
  directory: string
  projectID: string
}

const locationsMax = 10_000

/** The directory and project of sessions, which never change. */
export class SessionLocations {
  readonly #reader: StoreReader
  readonly #known = new Map<string, SessionLocation>()

  constructor(reader: StoreReader) {
    this.#reader = reader
  }

  /** Undefined for a session that was not loaded, or that does not exist. */
  get(sessionID: string): SessionLocation | undefined {
    return this.#known.get(sessionID)
  }

  async load(sessionIDs: Iterable<string>): Promise<void> {
    for (const id of new Set(sessionIDs)) {
      if (this.#known.has(id)) continue
      const session = await ifFound(this.#reader.session(id))
      if (!session) continue
      if (this.#known.size >= locationsMax) this.#known.delete(this.#known.keys().next().value!)
      this.#known.set(id, { directory: session.directory, projectID: session.projectID })
    }
  }
}
