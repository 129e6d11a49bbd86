import { lastPieceKeyOf } from "../commit/open-tail.ts"
import type { Database } from "../connection/database.ts"
import { unindexMessage } from "../search/index-text.ts"

/** A transaction that frees messages is committed after this time, so that other writers get the lock. */
const sliceMs = 8

/**
 * Queues a segment that no session writes any more. Messages that no other segment is based on are freed later. Must
 * run inside a write transaction.
 */
export function enqueueGarbage(db: Database, segment: number): void {
  db.run("INSERT OR IGNORE INTO garbage (segment) VALUES (?)", segment)
}

/**
 * Frees all queued segments in short transactions. Returns how many messages were removed and the blobs that lost a
 * reference.
 */
export function freeGarbage(db: Database, pause: () => void): { messages: number; blobs: Set<string> } {
  const freed = { messages: 0, blobs: new Set<string>() }
  for (;;) {
    if (db.get("SELECT 1 FROM garbage LIMIT 1") === undefined) return freed
    db.write(() => freeSlice(db, freed))
    pause()
  }
}

function freeSlice(db: Database, freed: { messages: number; blobs: Set<string> }): void {
  const end = performance.now() + sliceMs
  while (performance.now() < end) {
    const segment = db.get("SELECT segment FROM garbage LIMIT 1")?.[0] as number | undefined
    if (segment === undefined) return
    freeSegment(db, segment, { end, freed })
  }
}

/**
 * Frees messages from the end of a segment until the time is over. Takes the segment off the queue when nothing is left
 * to free.
 */
function freeSegment(
  db: Database,
  segment: number,
  slice: { end: number; freed: { messages: number; blobs: Set<string> } },
): void {
  const row = db.get("SELECT session, parent, base FROM segments WHERE key = ?", segment)
  if (row === undefined || row[0] !== null) {
    db.run("DELETE FROM garbage WHERE segment = ?", segment)
    return
  }
  const [, parent, base] = row as [null, number | null, number]
  const based = db.get("SELECT max(base) FROM segments WHERE parent = ?", segment)?.[0] as number | null
  const keep = based ?? base
  for (const [position] of db.all(
    "SELECT position FROM messages WHERE segment = ? AND position >= ? ORDER BY position DESC LIMIT 500",
    segment,
    keep,
  ) as [number][]) {
    for (const hash of freeMessage(db, segment, position)) slice.freed.blobs.add(hash)
    slice.freed.messages += 1
    if (performance.now() > slice.end) return
  }
  if (db.get("SELECT 1 FROM messages WHERE segment = ? AND position >= ?", segment, keep)) return
  db.run("DELETE FROM notes WHERE segment = ? AND at > ?", segment, based ?? -1)
  db.run("DELETE FROM garbage WHERE segment = ?", segment)
  if (based !== null) return
  db.run("DELETE FROM segments WHERE key = ?", segment)
  if (parent !== null) enqueueGarbage(db, parent)
}

function freeMessage(db: Database, segment: number, position: number): string[] {
  unindexMessage(db, segment, position)
  const refs = db.all("SELECT hash FROM blob_refs WHERE segment = ? AND position = ?", segment, position)
  if (refs.length > 0) db.run("DELETE FROM blob_refs WHERE segment = ? AND position = ?", segment, position)
  const range = db.get(
    "SELECT piece, piece_end FROM messages WHERE segment = ? AND position = ?",
    segment,
    position,
  )
  if (typeof range?.[0] === "number") {
    const last = (range[1] ?? lastPieceKeyOf(segment)) as number
    db.run("DELETE FROM pieces WHERE key BETWEEN ? AND ?", range[0], last)
  }
  db.run("DELETE FROM parts WHERE segment = ? AND position = ?", segment, position)
  db.run("DELETE FROM messages WHERE segment = ? AND position = ?", segment, position)
  return refs.map(([hash]) => Buffer.from(hash as Uint8Array).toString("hex"))
}

/** Returns the blobs that neither a message nor a waiting prompt refers to. */
export function unreferencedBlobs(db: Database, hashes: Iterable<string>): string[] {
  return [...hashes].filter(
    (hash) =>
      db.get("SELECT 1 FROM blob_refs WHERE hash = ? LIMIT 1", Buffer.from(hash, "hex")) === undefined &&
      db.get("SELECT 1 FROM inbox WHERE data IS NOT NULL AND instr(data, ?) > 0 LIMIT 1", hash) === undefined,
  )
}
