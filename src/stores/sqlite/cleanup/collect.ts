import { StemmaError } from "../../../protocol/index.ts"
import { collectAge } from "../../limits.ts"
import type { CollectOptions } from "../../store.ts"
import type { Reader } from "../read/read-messages.ts"
import { decodeID } from "../rows/id-codec.ts"
import { enqueueGarbage } from "./garbage.ts"

/** Sessions that nobody will finish importing, and children whose parent is gone: a removal was cut short. */
export function abandonedSessions(reader: Reader, options: CollectOptions & { nowMs: number }): string[] {
  const begun = options.nowMs - (options.importAgeMs ?? collectAge.importMs)
  return reader.db
    .all(
      `SELECT s.id FROM sessions s JOIN segments g ON g.key = s.segment WHERE s.importing = 1 AND g.created <= ?
       UNION ALL
       SELECT s.id FROM sessions s WHERE s.parent IS NOT NULL AND NOT EXISTS
         (SELECT 1 FROM sessions p WHERE p.key = s.parent)`,
      begun,
    )
    .map(([id]) => decodeID("session", id))
}

/** How many messages a session has that nobody else could reach: those of its own segments. */
export function ownMessages(reader: Reader, sessionID: Uint8Array | string): number {
  const row = reader.db.get(
    `SELECT count(*) FROM segments g JOIN messages m ON m.segment = g.key
      WHERE g.session = (SELECT key FROM sessions WHERE id = ?)`,
    sessionID,
  )
  return (row?.[0] ?? 0) as number
}

/** Forgets what was only remembered for a while. Inside a write transaction. */
export function forgetOld(reader: Reader, nowMs: number): void {
  const { db } = reader
  db.run("DELETE FROM inbox WHERE data IS NULL AND time <= ?", nowMs - collectAge.takenMs)
  const newest = db.get("SELECT max(version) FROM tips")?.[0] as number | null
  db.run("DELETE FROM removed WHERE time <= ?", nowMs - collectAge.removedMs)
  // The highest version must stay known, or it would be given out again.
  db.run(
    `DELETE FROM tips WHERE version < ? AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.key = tips.session)
        AND NOT EXISTS (SELECT 1 FROM removed r WHERE r.session = tips.session)`,
    newest ?? 0,
  )
  for (const [segment] of db.all(
    "SELECT key FROM segments WHERE session IS NULL AND NOT EXISTS (SELECT 1 FROM segments c WHERE c.parent = segments.key)",
  )) {
    enqueueGarbage(db, segment as number)
  }
}

/** Looks for damage: SQLite's own check, then whether the rows fit together. */
export function findProblems(reader: Reader): string[] {
  const { db } = reader
  const problems: string[] = []
  // The check uses what this connection last saw of an index, which others may have merged since: look once more.
  for (const index of ["text_index", "title_index"])
    db.get(`SELECT rowid FROM ${index} WHERE ${index} MATCH 'x' LIMIT 1`)
  for (const [line] of db.all("PRAGMA integrity_check(20)")) if (line !== "ok") problems.push(String(line))
  if (problems.length > 0) return problems
  const questions: [string, string][] = [
    [
      "sessions without data",
      "SELECT count(*) FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM session_data d WHERE d.session = s.key)",
    ],
    [
      "sessions without a tip",
      "SELECT count(*) FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM tips t WHERE t.session = s.key)",
    ],
    [
      "sessions without their segment",
      "SELECT count(*) FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM segments g WHERE g.key = s.segment AND g.session = s.key)",
    ],
    [
      "segments without their parent",
      "SELECT count(*) FROM segments g WHERE g.parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM segments p WHERE p.key = g.parent)",
    ],
    [
      "messages without a segment",
      "SELECT count(*) FROM messages m WHERE NOT EXISTS (SELECT 1 FROM segments g WHERE g.key = m.segment)",
    ],
    [
      "parts without a message",
      "SELECT count(*) FROM parts p WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.segment = p.segment AND m.position = p.position)",
    ],
    [
      "open messages that are not the last of their session",
      "SELECT count(*) FROM messages m WHERE m.sealed = 0 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.segment = m.segment AND s.count = m.position + 1 AND s.open = 1) AND NOT EXISTS (SELECT 1 FROM garbage b WHERE b.segment = m.segment)",
    ],
    [
      "rows newer than the store",
      "SELECT count(*) FROM sessions WHERE version > (SELECT max(version) FROM tips)",
    ],
    ["parts whose text is not JSON", "SELECT count(*) FROM parts WHERE NOT json_valid(data)"],
    ["messages whose text is not JSON", "SELECT count(*) FROM messages WHERE NOT json_valid(data)"],
  ]
  for (const [what, sql] of questions) {
    const count = db.get(sql)?.[0] as number
    if (count > 0) problems.push(`${count} ${what}`)
  }
  problems.push(...missingMessages(reader))
  return problems
}

/** Every history must have all its messages. */
function missingMessages(reader: Reader): string[] {
  const problems: string[] = []
  const counted = new Map<string, number>()
  for (const [id, segment, count] of reader.db.all("SELECT id, segment, count FROM sessions") as [
    unknown,
    number,
    number,
  ][]) {
    for (const span of reader.segments.spansBack({ segment, count }, 0, count)) {
      const key = `${span.segment} ${span.from} ${span.to}`
      let found = counted.get(key)
      if (found === undefined) {
        found = reader.db.get(
          "SELECT count(*) FROM messages WHERE segment = ? AND position >= ? AND position < ?",
          span.segment,
          span.from,
          span.to,
        )?.[0] as number
        counted.set(key, found)
      }
      if (found === span.to - span.from) continue
      problems.push(`session ${decodeID("session", id)} lacks ${span.to - span.from - found} messages`)
    }
  }
  return problems
}

/** Refuses to go on when the caller gave up. */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal?.aborted)
    throw new StemmaError("unavailable", "The collection was stopped; what was done stays done.")
}
