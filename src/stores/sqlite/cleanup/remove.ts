import { keptSessionsMax } from "../../limits.ts"
import { noSession } from "../../refusals.ts"
import type { Removal } from "../../store.ts"
import { treeKeys } from "../changes/scope.ts"
import type { Database } from "../connection/database.ts"
import { sessionsReaching } from "../read/reachable.ts"
import type { Reader } from "../read/read-messages.ts"
import { decodeID, encodeID } from "../rows/id-codec.ts"
import { enqueueGarbage } from "./garbage.ts"

/** The result of the first transaction of a removal. The messages themselves are freed afterwards, in batches. */
export interface Detached {
  sessions: string[]
  /** The range of positions that the removed sessions reached in each segment. */
  reached: Map<number, { from: number; to: number }>
}

export interface DetachOptions {
  version: number
  nowMs: number
  /** True if `collect` removes an abandoned import. */
  collecting: boolean
}

/** The first transaction of a removal: hides the session and its descendants, and queues their segments as garbage. */
export function detachSession(reader: Reader, sessionID: string, options: DetachOptions): Detached {
  const { db } = reader
  const root = db.get("SELECT key FROM sessions WHERE id = ?", encodeID(sessionID))?.[0] as number | undefined
  if (root === undefined) throw noSession(sessionID)
  const keys = treeKeys(db, root)
  const reached: Detached["reached"] = new Map()
  const sessions: string[] = []
  const paths = keys.map((key) => ancestorIDs(db, key))
  for (const key of keys) addReachedRanges(reader, key, reached)
  for (const [index, key] of keys.entries()) {
    sessions.push(detachOne(reader, key, { ...options, ancestors: paths[index]! }))
  }
  return { sessions, reached }
}

function ancestorIDs(db: Database, key: number): string[] {
  const ids: string[] = []
  let row = db.get(
    "SELECT p.key, p.id FROM sessions s JOIN sessions p ON p.key = s.parent WHERE s.key = ?",
    key,
  )
  while (row !== undefined) {
    ids.push(decodeID("session", row[1]))
    row = db.get(
      "SELECT p.key, p.id FROM sessions s JOIN sessions p ON p.key = s.parent WHERE s.key = ?",
      row[0] as number,
    )
  }
  return ids
}

function addReachedRanges(reader: Reader, key: number, reached: Detached["reached"]): void {
  for (const [own] of reader.db.all("SELECT key FROM segments WHERE session = ?", key) as [number][]) {
    const last = reader.db.get("SELECT max(position) FROM messages WHERE segment = ?", own)?.[0] as
      | number
      | null
    let to = last === null ? reader.segments.link(own).base : last + 1
    let segment: number | undefined = own
    while (segment !== undefined) {
      const link = reader.segments.link(segment)
      const known = reached.get(segment)
      reached.set(segment, { from: link.base, to: Math.max(known?.to ?? 0, to) })
      to = link.base
      segment = link.parent
    }
  }
}

function detachOne(reader: Reader, key: number, options: DetachOptions & { ancestors: string[] }): string {
  const { db, dictionary } = reader
  const [id, directory, importing] = db.get(
    "SELECT id, directory, importing FROM sessions WHERE key = ?",
    key,
  )!
  if (importing === 0) {
    db.run(
      "INSERT INTO removed (session, id, directory, ancestors, time) VALUES (?, ?, ?, ?, ?)",
      key,
      id as Uint8Array | string,
      dictionary.text(directory as number),
      JSON.stringify(options.ancestors),
      options.nowMs,
    )
  }
  // No client has seen an import that `collect` abandons, so its removal is not a change. The fence grows all the same,
  // so that a process that is still importing gets `conflict`.
  const visible = importing === 0 || !options.collecting
  db.run(
    `UPDATE tips SET version = ifnull(?, version), seq = seq + 1, fence = fence + 1, expires = 0, holder = NULL
      WHERE session = ?`,
    visible ? options.version : null,
    key,
  )
  for (const [segment] of db.all("SELECT key FROM segments WHERE session = ?", key))
    enqueueGarbage(db, segment as number)
  db.run("UPDATE segments SET session = NULL WHERE session = ?", key)
  db.run("DELETE FROM sessions WHERE key = ?", key)
  for (const table of ["session_data", "todos", "permissions", "inbox", "epochs"]) {
    db.run(`DELETE FROM ${table} WHERE session = ?`, key)
  }
  db.run("INSERT OR IGNORE INTO untitled (session) VALUES (?)", key)
  return decodeID("session", id)
}

/** Counts, after the garbage was freed, which of the reached messages are gone and which stay for other sessions. */
export function summarizeRemoval(reader: Reader, detached: Detached): Omit<Removal, "blobs"> {
  const { db } = reader
  let removedMessages = 0
  let kept = 0
  const sharingSessions = new Set<number>()
  for (const [segment, { from, to }] of detached.reached) {
    const stays = db.get(
      "SELECT count(*) FROM messages WHERE segment = ? AND position >= ? AND position < ?",
      segment,
      from,
      to,
    )?.[0] as number
    removedMessages += to - from - stays
    kept += stays
    if (stays > 0) for (const key of sessionsReaching(db, segment, from)) sharingSessions.add(key)
  }
  const sessions = [...sharingSessions]
    .sort((a, b) => a - b)
    .slice(0, keptSessionsMax)
    .map((key) => decodeID("session", db.get("SELECT id FROM sessions WHERE key = ?", key)?.[0]))
  return { sessions: detached.sessions, messages: removedMessages, kept: { messages: kept, sessions } }
}
