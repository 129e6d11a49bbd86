import type { NewSession, Session } from "../../../protocol/index.ts"
import { toPico } from "../../../session/usage/cost.ts"
import { addTokens } from "../../../session/usage/tokens.ts"
import type { OpOf } from "../../commit.ts"
import {
  keyTaken,
  messageTaken,
  moveWhileOpen,
  noLeftTail,
  noPart,
  notImporting,
  segmentTaken,
  sessionTaken,
  shareTaken,
} from "../../refusals.ts"
import type { Value } from "../connection/database.ts"
import { findMessage, locateMessage } from "../read/locate.ts"
import type { Head } from "../read/segments.ts"
import { packTokens, parseStored, unpackTokens } from "../rows/codec.ts"
import { decodeID, encodeID } from "../rows/id-codec.ts"
import {
  insertSession,
  patchColumns,
  patchData,
  readSessionData,
  type SessionData,
  shareKey,
  writeSessionData,
} from "../rows/session-rows.ts"
import { appendTo } from "./apply-message.ts"
import { type CommitWrite, published, touch } from "./commit-write.ts"
import type { OpenTail } from "./open-tail.ts"

interface Making {
  session: NewSession
  segment: string
  importing: boolean
  epoch: number
  forkedFrom?: Session["forkedFrom"]
  base?: Head
}

export function createSession(write: CommitWrite, op: OpOf<"session.create">): void {
  makeSession(write, { session: op.session, segment: op.segment, importing: op.importing === true, epoch: 0 })
}

function makeSession(write: CommitWrite, making: Making): OpenTail {
  const { db, names, segments } = write
  const { session } = making
  refuseTaken(write, session.id, making.segment)
  refuseTakenKey(write, session.agent, session.key)
  refuseTakenShare(write, session.share)
  const parent = session.parentID === undefined ? null : published(write.tails.get(session.parentID)).key
  const key = insertSession(db, names, {
    session,
    parent,
    importing: making.importing,
    version: write.version,
    epoch: making.epoch,
    forkedFrom: making.forkedFrom,
  })
  const segment = segments.create({
    id: making.segment,
    session: key,
    parent: making.base,
    version: write.version,
    created: write.nowMs,
  })
  const count = making.base?.count ?? 0
  db.run("UPDATE sessions SET segment = ?, count = ? WHERE key = ?", segment, count, key)
  if (making.epoch > 0)
    db.run("INSERT INTO epochs (session, version, keep) VALUES (?, ?, 0)", key, write.version)
  if (!making.importing) queueTitle(write, key)
  const tail: OpenTail = {
    key,
    id: session.id,
    seq: 0,
    fence: 0,
    expires: 0,
    importing: making.importing,
    segment,
    count,
    updated: session.time.updated,
    marked: false,
    open: undefined,
    checked: 0,
  }
  write.tails.add(tail)
  write.touched.push(tail)
  write.made ??= new Set()
  write.made.add(session.id)
  return tail
}

function queueTitle(write: CommitWrite, key: number): void {
  write.db.run("INSERT OR IGNORE INTO untitled (session) VALUES (?)", key)
  write.sealed = true
}

function refuseTaken(write: CommitWrite, sessionID: string, segmentID: string): void {
  const id = encodeID(sessionID)
  const taken = write.db.get(
    "SELECT 1 FROM sessions WHERE id = ? UNION ALL SELECT 1 FROM removed WHERE id = ?",
    id,
    id,
  )
  if (taken) {
    throw sessionTaken(sessionID)
  }
  if (write.db.get("SELECT 1 FROM segments WHERE id = ?", encodeID(segmentID))) {
    throw segmentTaken(segmentID)
  }
}

function refuseTakenKey(
  write: CommitWrite,
  agent: string | undefined,
  key: string | undefined,
  own?: number,
): void {
  if (key === undefined) return
  const agentKey = agent === undefined ? 0 : (write.names.find(agent) ?? -1)
  const row = write.db.get(
    "SELECT key, id FROM sessions WHERE name = ? AND ifnull(agent, 0) = ?",
    key,
    agentKey,
  )
  if (row === undefined || row[0] === own) return
  throw keyTaken(key, decodeID("session", row[1]))
}

function refuseTakenShare(write: CommitWrite, share: Session["share"] | null, own?: number): void {
  const hash = shareKey(share)
  const row = hash && write.db.get("SELECT key, id FROM sessions WHERE share = ?", hash)
  if (row && row[0] !== own) throw shareTaken(decodeID("session", row[1]))
}

export function publishSession(write: CommitWrite, op: OpOf<"session.publish">): void {
  const tail = touch(write, op.sessionID)
  if (!tail.importing) throw notImporting(tail.id)
  tail.importing = false
  write.db.run(
    "UPDATE sessions SET importing = 0, epoch = 1, version = ? WHERE key = ?",
    write.version,
    tail.key,
  )
  write.db.run("INSERT INTO epochs (session, version, keep) VALUES (?, ?, 0)", tail.key, write.version)
  write.db.run("UPDATE todos SET version = ? WHERE session = ?", write.version, tail.key)
  write.db.run("UPDATE permissions SET version = ? WHERE session = ?", write.version, tail.key)
  queueTitle(write, tail.key)
}

export function patchSession(write: CommitWrite, op: OpOf<"session.patch">): void {
  const tail = touch(write, op.sessionID)
  const { db, names } = write
  const set = op.set ?? {}
  if (set.revert) checkMark(write, tail, set.revert)
  const columns: [string, Value][] = patchColumns(set, names)
  if (set.agent !== undefined || set.key !== undefined) checkKeyAfter(write, tail, set)
  if (set.share) refuseTakenShare(write, set.share, tail.key)
  if (op.add) columns.push(...addUsage(write, tail, op.add))
  columns.push(["version", write.version])
  if (set.title !== undefined && !tail.importing) queueTitle(write, tail.key)
  const assignments = columns.map(([name]) => `${name} = ?`).join(", ")
  db.run(`UPDATE sessions SET ${assignments} WHERE key = ?`, ...columns.map(([, value]) => value), tail.key)
  const data = patchData(() => readSessionData(db, tail.key), set)
  if (data) writeSessionData(db, tail.key, data)
  if (set.time?.updated !== undefined) tail.updated = set.time.updated
  if (set.revert !== undefined) tail.marked = set.revert !== null
}

function checkMark(write: CommitWrite, tail: OpenTail, mark: NonNullable<SessionData["revert"]>): void {
  const { segment, position } = locateMessage(write, tail, mark.messageID)
  if (mark.partID === undefined) return
  const part = write.db.get(
    "SELECT 1 FROM parts WHERE segment = ? AND position = ? AND id = ?",
    segment,
    position,
    encodeID(mark.partID),
  )
  if (!part) throw noPart(mark.messageID, mark.partID)
}

function checkKeyAfter(
  write: CommitWrite,
  tail: OpenTail,
  set: { agent?: string | null; key?: string | null },
): void {
  const row = write.db.get("SELECT agent, name FROM sessions WHERE key = ?", tail.key)!
  const presentAgent = row[0] === null ? undefined : write.names.text(row[0] as number)
  const agent = set.agent === undefined ? presentAgent : (set.agent ?? undefined)
  const key = set.key === undefined ? ((row[1] ?? undefined) as string | undefined) : (set.key ?? undefined)
  refuseTakenKey(write, agent, key, tail.key)
}

function addUsage(
  write: CommitWrite,
  tail: OpenTail,
  add: NonNullable<OpOf<"session.patch">["add"]>,
): [string, Value][] {
  const row = write.db.get("SELECT cost, tokens FROM sessions WHERE key = ?", tail.key)!
  const columns: [string, Value][] = []
  if (add.cost !== undefined) columns.push(["cost", String(BigInt(row[0] as string) + toPico(add.cost))])
  if (add.tokens) {
    const tokens = unpackTokens(parseStored(row[1], `Session ${tail.id}`) as number[])
    columns.push(["tokens", JSON.stringify(packTokens(addTokens(tokens, add.tokens)))])
  }
  return columns
}

export function forkSession(write: CommitWrite, op: OpOf<"session.fork">): void {
  const { db, names } = write
  const source = published(write.tails.get(op.sourceID))
  const data = readSessionData(db, source.key)
  const head =
    op.left === undefined ? visibleHead(write, source, data) : leftHead(write, source, data, op.left)
  if (op.messageID !== undefined) {
    head.count = Math.min(
      head.count,
      locateMessage(write, { ...head, count: head.whole, id: source.id }, op.messageID).position,
    )
  }
  const row = db.get("SELECT project, directory, agent FROM sessions WHERE key = ?", source.key)!
  const inherited = {
    projectID: names.text(row[0] as number),
    directory: names.text(row[1] as number),
    agent: row[2] === null ? undefined : names.text(row[2] as number),
    model: data.model,
    permission: data.permission,
    maxHistory: data.maxHistory,
  }
  const forkedFrom: Session["forkedFrom"] = { sessionID: source.id }
  if (op.messageID !== undefined) forkedFrom.messageID = op.messageID
  const tail = makeSession(write, {
    session: { ...inherited, ...given(op.session) } as NewSession,
    segment: op.segment,
    importing: false,
    epoch: 1,
    forkedFrom,
    base: { segment: head.segment, count: head.count },
  })
  if (op.tail) appendSealed(write, tail, op.tail)
}

/** The fields that were really given: an explicit undefined does not hide what is inherited. */
function given<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** What may be shared of a session: sealed messages that its revert mark does not hide. */
function visibleHead(write: CommitWrite, source: OpenTail, data: SessionData): Head & { whole: number } {
  let count = source.open ? source.count - 1 : source.count
  if (data.revert) count = Math.min(count, locateMessage(write, source, data.revert.messageID).position)
  return { segment: source.segment, count, whole: source.count }
}

function leftHead(
  write: CommitWrite,
  source: OpenTail,
  data: SessionData,
  left: string,
): Head & { whole: number } {
  const tail = data.left?.find((entry) => entry.segment === left)
  const key = write.db.get("SELECT key FROM segments WHERE id = ?", encodeID(left))?.[0] as number | undefined
  if (!tail || key === undefined) {
    throw noLeftTail(source.id, left)
  }
  return { segment: key, count: tail.count, whole: tail.count }
}

export function moveHistory(write: CommitWrite, op: OpOf<"history.move">): void {
  const { db, segments } = write
  const tail = touch(write, op.sessionID)
  if (tail.open) {
    throw moveWhileOpen(tail.open.id)
  }
  const { position: keep } = locateMessage(write, tail, op.messageID)
  const data = readSessionData(db, tail.key)
  const left = decodeID("segment", db.get("SELECT id FROM segments WHERE key = ?", tail.segment)?.[0])
  if (db.get("SELECT 1 FROM segments WHERE id = ?", encodeID(op.segment))) {
    throw segmentTaken(op.segment)
  }
  const dropped = lowestDroppedNote(write, tail, keep)
  const segment = segments.create({
    id: op.segment,
    session: tail.key,
    parent: { segment: tail.segment, count: keep },
    version: write.version,
    created: write.nowMs,
  })
  const next: SessionData = {
    ...data,
    left: [...(data.left ?? []), { segment: left, keep, count: tail.count }],
  }
  delete next.revert
  writeSessionData(db, tail.key, next)
  tail.segment = segment
  tail.count = keep
  tail.marked = false
  db.run(
    "UPDATE sessions SET segment = ?, count = ?, marked = 0, epoch = epoch + 1, version = ? WHERE key = ?",
    segment,
    keep,
    write.version,
    tail.key,
  )
  db.run(
    `INSERT INTO epochs (session, version, keep) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET keep = min(keep, excluded.keep)`,
    tail.key,
    write.version,
    Math.min(keep, dropped),
  )
  if (op.tail) appendSealed(write, tail, op.tail)
}

/** The lowest position whose notes were written after what is kept: replicas must read it again. */
function lowestDroppedNote(write: CommitWrite, head: Head, keep: number): number {
  let lowest = keep
  for (const { segment, atMax, versionMax } of write.segments.notesBack(head, keep)) {
    const row = write.db.get(
      "SELECT min(position) FROM notes WHERE segment = ? AND at > ? AND at <= ? AND version <= ? AND position < ?",
      segment,
      keep,
      atMax,
      versionMax,
      keep,
    )
    if (typeof row?.[0] === "number") lowest = Math.min(lowest, row[0])
  }
  return lowest
}

function appendSealed(
  write: CommitWrite,
  tail: OpenTail,
  entry: NonNullable<OpOf<"history.move">["tail"]>,
): void {
  if (findMessage(write, tail, entry.message.id)) {
    throw messageTaken(tail.id, entry.message.id)
  }
  appendTo(write, tail, { ...entry, sealed: true })
}
