import { createHash } from "node:crypto"
import type { LeftTail, NewSession, Session, SessionPatch } from "../../../protocol/index.ts"
import { fromPico } from "../../../session/usage/cost.ts"
import type { Database, Tuple, Value } from "../connection/database.ts"
import type { Dictionary } from "./dictionary.ts"
import { decodeID, encodeID } from "./id-codec.ts"
import { parseStored, unpackTokens } from "./message-rows.ts"

/** The fields of a session that no query filters by, stored as JSON in `session_data`. */
export interface SessionData {
  version: string
  caller?: Session["caller"]
  model?: Session["model"]
  summary?: Session["summary"]
  share?: Session["share"]
  permission?: Session["permission"]
  maxHistory?: number
  budget?: number
  revert?: Session["revert"]
  forkedFrom?: Session["forkedFrom"]
  compacting?: number
  left?: LeftTail[]
}

/**
 * The columns that `decodeSession` reads. Aliases: `s` sessions, `d` session_data, `t` tips, `g` segments, `p` the
 * parent session.
 */
export const sessionSelect = `
  SELECT s.key, s.id, s.version, s.project, s.directory, p.id, s.agent, s.name, s.archived, s.created, s.updated,
         s.title, g.id, s.count, s.epoch, s.cost, s.tokens, d.data, t.seq
    FROM sessions s
    JOIN session_data d ON d.session = s.key
    JOIN tips t ON t.session = s.key
    JOIN segments g ON g.key = s.segment
    LEFT JOIN sessions p ON p.key = s.parent`

export interface SessionRow {
  key: number
  version: number
  session: Session
}

export function decodeSession(row: Tuple, dictionary: Dictionary): SessionRow {
  const id = decodeID("session", row[1])
  const data = parseStored(row[17], `Session ${id}`) as SessionData
  const session: Session = {
    id,
    projectID: dictionary.text(row[3] as number),
    directory: dictionary.text(row[4] as number),
    title: row[11] as string,
    version: data.version,
    cost: row[15] === "0" ? 0 : fromPico(BigInt(row[15] as string)),
    tokens: unpackTokens(parseStored(row[16], `Session ${id}`) as number[]),
    time: { created: row[9] as number, updated: row[10] as number },
    history: {
      segment: decodeID("segment", row[12]),
      count: row[13] as number,
      epoch: row[14] as number,
      left: data.left ?? [],
    },
    seq: row[18] as number,
  }
  if (row[5] !== null) session.parentID = decodeID("session", row[5])
  if (row[6] !== null) session.agent = dictionary.text(row[6] as number)
  if (row[7] !== null) session.key = row[7] as string
  if (row[8] !== null) session.time.archived = row[8] as number
  if (data.compacting !== undefined) session.time.compacting = data.compacting
  if (data.caller) session.caller = data.caller
  if (data.model) session.model = data.model
  if (data.summary) session.summary = data.summary
  if (data.share) session.share = data.share
  if (data.permission) session.permission = data.permission
  if (data.maxHistory !== undefined) session.maxHistory = data.maxHistory
  if (data.budget !== undefined) session.budget = data.budget
  if (data.revert) session.revert = data.revert
  if (data.forkedFrom) session.forkedFrom = data.forkedFrom
  return { key: row[0] as number, version: row[2] as number, session }
}

export function readSessionData(db: Database, key: number): SessionData {
  const row = db.get("SELECT data FROM session_data WHERE session = ?", key)
  return parseStored(row?.[0], `The data of session ${key}`) as SessionData
}

export function writeSessionData(db: Database, key: number, data: SessionData): void {
  db.run("UPDATE session_data SET data = ? WHERE session = ?", JSON.stringify(data), key)
}

export interface InsertSession {
  session: NewSession
  parent: number | null
  importing: boolean
  version: number
  epoch: number
  forkedFrom?: Session["forkedFrom"]
}

/**
 * Inserts a session and returns its key. The caller sets `segment` and `count` afterwards, because the segment needs
 * the key.
 */
export function insertSession(db: Database, dictionary: Dictionary, input: InsertSession): number {
  const { session } = input
  const key = db.insert(
    `INSERT INTO sessions (id, version, importing, project, directory, parent, agent, name, archived, created, updated,
                           title, folded, segment, count, open, marked, epoch, cost, tokens, share)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, '0', '[0,0]', ?)`,
    encodeID(session.id),
    input.version,
    input.importing ? 1 : 0,
    dictionary.intern(session.projectID),
    dictionary.intern(session.directory),
    input.parent,
    session.agent === undefined ? null : dictionary.intern(session.agent),
    session.key ?? null,
    session.time.archived ?? null,
    session.time.created,
    session.time.updated,
    session.title,
    session.title.toLowerCase(),
    input.epoch,
    shareKey(session.share),
  )
  const data: SessionData = {
    version: session.version,
    caller: session.caller,
    model: session.model,
    summary: session.summary,
    share: session.share,
    permission: session.permission,
    maxHistory: session.maxHistory,
    budget: session.budget,
    forkedFrom: input.forkedFrom,
    compacting: session.time.compacting,
  }
  db.run("INSERT INTO session_data (session, data) VALUES (?, ?)", key, JSON.stringify(data))
  db.run("INSERT INTO tips (session, seq, version) VALUES (?, 0, ?)", key, input.version)
  return key
}

/**
 * The column by which a shared session is found: the hash of its secret, so that the time of a lookup reveals nothing
 * about the secret.
 */
export function shareKey(share: Session["share"] | null): Buffer | null {
  const secret = share?.secret
  return secret === undefined ? null : createHash("sha256").update(secret).digest()
}

type Column = [sql: string, value: Value]

/** Returns the columns of `sessions` that a patch sets. */
export function patchColumns(patch: SessionPatch, dictionary: Dictionary): Column[] {
  const columns: Column[] = []
  if (patch.title !== undefined) {
    columns.push(["title", patch.title], ["folded", patch.title.toLowerCase()])
  }
  if (patch.agent !== undefined)
    columns.push(["agent", patch.agent === null ? null : dictionary.intern(patch.agent)])
  if (patch.key !== undefined) columns.push(["name", patch.key])
  if (patch.share !== undefined) columns.push(["share", shareKey(patch.share)])
  if (patch.revert !== undefined) columns.push(["marked", patch.revert === null ? 0 : 1])
  if (patch.time?.updated !== undefined) columns.push(["updated", patch.time.updated])
  if (patch.time?.archived !== undefined) columns.push(["archived", patch.time.archived])
  return columns
}

const dataFields = [
  "caller",
  "model",
  "summary",
  "share",
  "permission",
  "maxHistory",
  "budget",
  "revert",
] as const

/** Returns the session data with the patch applied, or undefined if the patch has none of these fields. */
export function patchData(data: () => SessionData, patch: SessionPatch): SessionData | undefined {
  const compacting = patch.time?.compacting
  if (compacting === undefined && dataFields.every((name) => patch[name] === undefined)) return undefined
  const next: Record<string, unknown> = { ...data() }
  for (const name of dataFields) {
    const value = patch[name]
    if (value === null) delete next[name]
    else if (value !== undefined) next[name] = value
  }
  if (compacting === null) delete next.compacting
  else if (compacting !== undefined) next.compacting = compacting
  return next as unknown as SessionData
}
