import type { PartBody } from "../../../protocol/index.ts"
import { searchText, tokenize } from "../../../session/search/index.ts"
import type { Database } from "../connection/database.ts"
import { readSealedParts } from "../read/read-messages.ts"

/** Limits of a batch, so that its transaction stays short. */
const batchMessages = 64
const batchUnits = 128 * 1024
/** How many pages of the index one transaction merges. */
const mergePages = 32

interface PreparedMessage {
  segment: number
  position: number
  parts: { key: number; data: string; tokens: string[] }[]
}

/** Returns the tokens that the text index holds for a part. */
export function partTokens(part: PartBody): string[] {
  const found = searchText(part)
  return found === undefined ? [] : tokenize(found.text)
}

/**
 * Indexes all queued titles and messages in short transactions. `pause` is called between transactions, so that other
 * writers can take the lock. Returns the number of messages.
 */
export function indexWaiting(db: Database, pause: () => void): number {
  let indexed = 0
  for (;;) {
    const titles = indexTitles(db)
    const batch = prepareBatch(db)
    if (batch.length > 0) {
      storeBatch(db, batch)
      indexed += batch.length
    }
    if (titles === 0 && batch.length === 0) return indexed
    pause()
  }
}

/** Reads and tokenizes the next queued messages, before the write lock is taken. */
function prepareBatch(db: Database): PreparedMessage[] {
  const batch: PreparedMessage[] = []
  let units = 0
  const waiting = db.all("SELECT segment, position FROM unindexed LIMIT ?", batchMessages) as [
    number,
    number,
  ][]
  for (const [segment, position] of waiting) {
    const parts = readSealedParts(db, segment, position).map(({ key, data, body }) => ({
      key,
      data,
      tokens: partTokens(body),
    }))
    batch.push({ segment, position, parts })
    units += parts.reduce((sum, part) => sum + part.data.length + part.tokens.length * 8, 0)
    if (units > batchUnits) break
  }
  return batch
}

function storeBatch(db: Database, batch: PreparedMessage[]): void {
  db.write(() => {
    for (const { segment, position, parts } of batch) {
      // The message was removed or redacted after it was read. It is no longer queued, or queued with other content.
      const same = parts.every(
        (part) => db.get("SELECT data FROM parts WHERE key = ?", part.key)?.[0] === part.data,
      )
      if (!same) continue
      const changes = db.change("DELETE FROM unindexed WHERE segment = ? AND position = ?", segment, position)
      if (changes === 0) continue
      for (const { key, tokens } of parts) {
        if (tokens.length === 0) continue
        db.run("INSERT INTO text_index (rowid, tokens) VALUES (?, ?)", key, tokens.join(" "))
      }
    }
  })
}

function indexTitles(db: Database): number {
  if (db.get("SELECT 1 FROM untitled LIMIT 1") === undefined) return 0
  return db.write(() => {
    const waiting = db.all("SELECT session FROM untitled LIMIT ?", batchMessages) as [number][]
    for (const [session] of waiting) {
      db.run("DELETE FROM untitled WHERE session = ?", session)
      indexTitle(db, session)
    }
    return waiting.length
  })
}

/** Updates the title index to the session's present title; removes the title of a removed session. */
function indexTitle(db: Database, session: number): void {
  const before = db.get("SELECT title FROM titled WHERE session = ?", session)?.[0]
  const after = db.get("SELECT title FROM sessions WHERE key = ? AND importing = 0", session)?.[0]
  const beforeTokens = typeof before === "string" ? tokenize(before) : []
  const afterTokens = typeof after === "string" ? tokenize(after) : []
  replaceTokens(db, "title_index", { key: session, before: beforeTokens, after: afterTokens })
  db.run("DELETE FROM titled WHERE session = ?", session)
  if (typeof after === "string") db.run("INSERT INTO titled (session, title) VALUES (?, ?)", session, after)
}

/**
 * Replaces the tokens of a row in an index. FTS5 with secure-delete loses a token that is deleted and inserted for the
 * same row in one transaction, so only the difference is written.
 */
function replaceTokens(
  db: Database,
  table: "text_index" | "title_index",
  row: { key: number; before: string[]; after: string[] },
): void {
  const kept = new Set(row.before).intersection(new Set(row.after))
  const removed = row.before.filter((token) => !kept.has(token))
  const added = row.after.filter((token) => !kept.has(token))
  if (removed.length === 0 && added.length === 0) return
  // FTS5 counts rows by deletes and inserts, so a changed row gets one of each, even if its list of tokens is empty.
  if (row.before.length > 0) {
    db.run(
      `INSERT INTO ${table} (${table}, rowid, tokens) VALUES ('delete', ?, ?)`,
      row.key,
      removed.join(" "),
    )
  }
  if (row.after.length > 0) {
    db.run(`INSERT INTO ${table} (rowid, tokens) VALUES (?, ?)`, row.key, added.join(" "))
  }
}

/** Updates the index after a part of an indexed message was replaced. Must run inside a write transaction. */
export function reindexPart(db: Database, key: number, change: { before: PartBody; after: PartBody }): void {
  replaceTokens(db, "text_index", { key, before: partTokens(change.before), after: partTokens(change.after) })
}

/** Removes the parts of a message from the index, or from the queue. Must run inside a write transaction. */
export function unindexMessage(db: Database, segment: number, position: number): void {
  const waiting = db.get("SELECT 1 FROM unindexed WHERE segment = ? AND position = ?", segment, position)
  if (waiting !== undefined) {
    db.run("DELETE FROM unindexed WHERE segment = ? AND position = ?", segment, position)
    return
  }
  const sealed = db.get(
    "SELECT sealed FROM messages WHERE segment = ? AND position = ?",
    segment,
    position,
  )?.[0]
  if (sealed !== 1) return
  for (const { key, body } of readSealedParts(db, segment, position)) {
    replaceTokens(db, "text_index", { key, before: partTokens(body), after: [] })
  }
}

/** Merges some b-trees of the text index. Returns true if there may be more to merge. */
export function mergeIndex(db: Database): boolean {
  const before = db.get("SELECT total_changes()")?.[0] as number
  db.write(() => db.run("INSERT INTO text_index (text_index, rank) VALUES ('merge', ?)", mergePages))
  return (db.get("SELECT total_changes()")?.[0] as number) - before >= 2
}
