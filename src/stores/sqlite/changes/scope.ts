import type { Row } from "../../../protocol/index.ts"
import { noSession } from "../../refusals.ts"
import type { Scope } from "../../store.ts"
import type { Database } from "../connection/database.ts"
import type { Reader } from "../read/read-messages.ts"
import { decodeID, encodeID } from "../rows/id-codec.ts"
import { parseStored } from "../rows/message-rows.ts"

/** Tells which sessions a scope covers. Sessions are given by their key. */
export interface ScopeFilter {
  /** The only session that can match, if the scope names a single session. */
  only?: number
  live(session: number): boolean
  /** The `removed` row of a session that the scope covered before the session was removed. */
  removed(session: number, version: number): Row | undefined
}

export function scopeFilter(reader: Reader, scope: Scope): ScopeFilter {
  if ("directory" in scope) {
    const name = reader.dictionary.find(scope.directory)
    return {
      live: (session) => name !== undefined && isLive(reader, session, "directory", name),
      removed: (session, version) =>
        removedRow(reader, session, version, (row) => row.directory === scope.directory),
    }
  }
  const id = "sessionID" in scope ? scope.sessionID : scope.treeID
  const key = sessionKey(reader, id)
  if ("sessionID" in scope) {
    return {
      only: key,
      live: (session) => session === key && isVisible(reader, session),
      removed: (session, version) =>
        session === key ? removedRow(reader, session, version, () => true) : undefined,
    }
  }
  const tree = new Set(treeKeys(reader.db, key))
  return {
    live: (session) => tree.has(session) && isVisible(reader, session),
    removed: (session, version) => removedRow(reader, session, version, (row) => row.path.includes(id)),
  }
}

/**
 * Returns the keys of the session and of all its descendants in order of creation, so the session itself comes first.
 */
export function treeKeys(db: Database, root: number): number[] {
  return db
    .all(
      `WITH RECURSIVE tree (key) AS (
         SELECT ? UNION SELECT s.key FROM sessions s JOIN tree ON s.parent = tree.key)
       SELECT key FROM tree ORDER BY key`,
      root,
    )
    .map(([key]) => key as number)
}

/** Returns the key of a visible or removed session, or fails with `not_found`. */
function sessionKey(reader: Reader, id: string): number {
  const stored = encodeID(id)
  const row = reader.db.get(
    "SELECT key FROM sessions WHERE id = ? AND importing = 0 UNION ALL SELECT session FROM removed WHERE id = ?",
    stored,
    stored,
  )
  if (row === undefined) throw noSession(id)
  return row[0] as number
}

function isVisible(reader: Reader, session: number): boolean {
  return reader.db.get("SELECT 1 FROM sessions WHERE key = ? AND importing = 0", session) !== undefined
}

function isLive(reader: Reader, session: number, column: "directory", value: number): boolean {
  const row = reader.db.get(`SELECT ${column} FROM sessions WHERE key = ? AND importing = 0`, session)
  return row?.[0] === value
}

/** `path` holds the id of the removed session and the ids of its ancestors, nearest first. */
function removedRow(
  reader: Reader,
  session: number,
  version: number,
  matches: (row: { directory: string; path: string[] }) => boolean,
): Row | undefined {
  const found = reader.db.get("SELECT id, directory, ancestors FROM removed WHERE session = ?", session)
  if (found === undefined) return undefined
  const sessionID = decodeID("session", found[0])
  const directory = found[1] as string
  const ancestors = parseStored(found[2], `The removed session ${sessionID}`) as string[]
  if (!matches({ directory, path: [sessionID, ...ancestors] })) return undefined
  const row: Row = { type: "removed", version, sessionID, directory }
  if (ancestors[0] !== undefined) row.parentID = ancestors[0]
  return row
}
