import type { Row } from "../../../protocol/index.ts"
import { checkLimit, decodeCursor, encodeCursor } from "../../cursor.ts"
import { changesLimit } from "../../limits.ts"
import type { Changes, Scope } from "../../store.ts"
import type { Reader } from "../read/read-messages.ts"
import { afterAllVersions, type ChangedSession, changedRows } from "./changed-rows.ts"
import { scopeFilter } from "./scope.ts"

export function readChanges(
  reader: Reader,
  storeID: string,
  query: { scope: Scope; since: string | undefined; limit: number | undefined },
): Changes {
  const limit = checkLimit(query.limit, changesLimit)
  const newest = newestVersion(reader)
  const since = decodeCursor(storeID, query.since, newest)
  const rows: Row[] = []
  const keyBySessionID = new Map<string, number>()
  let until = afterAllVersions
  for (const tip of changedTips(reader, query.scope, since)) {
    const collected = tip.removed
      ? { rows: [tip.removed], until: afterAllVersions }
      : changedRows(reader, tip, since, limit)
    for (const row of collected.rows) rows.push(row)
    const id = collected.rows[0]?.sessionID
    if (id !== undefined) keyBySessionID.set(id, tip.key)
    until = Math.min(until, collected.until)
  }
  rows.sort(
    (a, b) =>
      compareRows(a, b) ||
      keyBySessionID.get(a.sessionID)! - keyBySessionID.get(b.sessionID)! ||
      compareLocations(a, b),
  )
  let end = rows.findIndex((row) => row.version >= until)
  if (end < 0) end = rows.length
  if (end > limit) {
    const last = rows[limit - 1]!.version
    end = limit
    // A page never ends in the middle of a commit.
    while (end < rows.length && rows[end]!.version === last) end += 1
  }
  const more = end < rows.length || until !== afterAllVersions
  rows.length = end
  const version = more ? (rows.at(-1)?.version ?? since) : newest
  return { rows, cursor: encodeCursor(storeID, version), more }
}

/** The version of the newest commit in the store; 0 in an empty store. */
export function newestVersion(reader: Reader): number {
  return (reader.db.get("SELECT max(version) FROM tips")?.[0] ?? 0) as number
}

function changedTips(reader: Reader, scope: Scope, since: number): ChangedSession[] {
  const matches = scopeFilter(reader, scope)
  const tips: ChangedSession[] = []
  const candidates = matches.only
    ? reader.db.all(
        "SELECT session, version, inbox FROM tips WHERE session = ? AND version > ?",
        matches.only,
        since,
      )
    : reader.db.all("SELECT session, version, inbox FROM tips WHERE version > ? ORDER BY version", since)
  for (const [session, version, inbox] of candidates as [number, number, number][]) {
    if (matches.live(session)) {
      tips.push({ key: session, inbox })
      continue
    }
    const removed = matches.removed(session, version)
    if (removed) tips.push({ key: session, inbox, removed })
  }
  return tips
}

const typeOrder: Record<Row["type"], number> = {
  removed: 0,
  session: 1,
  history: 1.5,
  message: 2,
  part: 3,
  piece: 4,
  note: 5,
  todos: 6,
  permission: 7,
  inbox: 8,
}

function compareRows(a: Row, b: Row): number {
  return a.version - b.version || typeOrder[a.type] - typeOrder[b.type]
}

function compareLocations(a: Row, b: Row): number {
  return (
    numberOrZero(a, "position") - numberOrZero(b, "position") ||
    numberOrZero(a, "index") - numberOrZero(b, "index") ||
    numberOrZero(a, "offset") - numberOrZero(b, "offset") ||
    (a.type === "note" && b.type === "note" ? (a.key < b.key ? -1 : 1) : 0)
  )
}

function numberOrZero(row: Row, field: "position" | "index" | "offset"): number {
  return field in row ? (row as unknown as Record<string, number>)[field]! : 0
}
