import type { OpOf } from "../../commit.ts"
import { inboxItemTaken, noInboxItem, noteOnOpen } from "../../refusals.ts"
import { locateMessage } from "../read/locate.ts"
import { encodeID } from "../rows/id-codec.ts"
import { type CommitWrite, markChanged } from "./commit-write.ts"

export function putNote(write: CommitWrite, op: OpOf<"note.put">): void {
  const tail = markChanged(write, op.sessionID)
  const { position } = locateMessage(write, tail, op.messageID)
  if (tail.open?.position === position) {
    throw noteOnOpen(op.messageID)
  }
  // The old note stays if a fork was made since, because the fork still shows it.
  if (!write.db.get("SELECT 1 FROM segments WHERE parent = ? LIMIT 1", tail.segment)) {
    write.db.run(
      "DELETE FROM notes WHERE segment = ? AND position = ? AND name = ? AND at = ?",
      tail.segment,
      position,
      op.key,
      tail.count,
    )
  }
  write.db.run(
    `INSERT INTO notes (segment, position, name, at, version, value) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET value = excluded.value`,
    tail.segment,
    position,
    op.key,
    tail.count,
    write.version,
    JSON.stringify(op.value ?? null),
  )
}

export function putTodos(write: CommitWrite, op: OpOf<"todos.put">): void {
  const tail = markChanged(write, op.sessionID)
  write.db.run(
    `INSERT INTO todos (session, version, data) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET version = excluded.version, data = excluded.data`,
    tail.key,
    write.version,
    JSON.stringify(op.todos),
  )
}

export function putPermission(write: CommitWrite, op: OpOf<"permission.put">): void {
  const tail = markChanged(write, op.request.sessionID)
  const { sessionID: _, ...request } = op.request
  write.db.run(
    `INSERT INTO permissions (session, id, version, open, data) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (session, id) DO UPDATE SET version = excluded.version, open = excluded.open, data = excluded.data`,
    tail.key,
    encodeID(request.id),
    write.version,
    request.reply === undefined ? 1 : 0,
    JSON.stringify(request),
  )
}

export function takeItem(write: CommitWrite, op: OpOf<"inbox.take">): void {
  const tail = markChanged(write, op.sessionID)
  const row = write.db.get(
    "SELECT key, data IS NULL FROM inbox WHERE session = ? AND id = ?",
    tail.key,
    op.itemID,
  )
  if (row === undefined) {
    throw noInboxItem(tail.id, op.itemID)
  }
  if (row[1] === 1) throw inboxItemTaken(tail.id, op.itemID)
  write.db.run("UPDATE inbox SET data = NULL, time = ? WHERE key = ?", write.nowMs, row[0] as number)
  write.db.run("UPDATE tips SET inbox = ? WHERE session = ?", write.version, tail.key)
}
