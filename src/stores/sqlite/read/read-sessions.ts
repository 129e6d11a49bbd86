import type { Session } from "../../../protocol/index.ts"
import { checkLimit, checkTime, decodePage, encodePage } from "../../cursor.ts"
import { pageLimit } from "../../limits.ts"
import { noSession } from "../../refusals.ts"
import type { Page, SessionQuery } from "../../store.ts"
import type { Tuple, Value } from "../connection/database.ts"
import { encodeID } from "../rows/id-codec.ts"
import { decodeSession, sessionSelect, shareKey } from "../rows/session-rows.ts"
import type { Reader } from "./read-messages.ts"

export function readSession(reader: Reader, id: string): Session {
  const row = reader.db.get(`${sessionSelect} WHERE s.id = ? AND s.importing = 0`, encodeID(id))
  if (row === undefined) throw noSession(id)
  return decodeSession(row, reader.dictionary).session
}

/**
 * Reads the session and all its descendants. A child is created after its parent, so order by key is order of creation.
 */
export function readTree(reader: Reader, rootID: string): Session[] {
  const rows = reader.db.all(
    `WITH RECURSIVE tree (key) AS (
       SELECT key FROM sessions WHERE id = ? AND importing = 0
       UNION SELECT c.key FROM tree JOIN sessions c ON c.parent = tree.key WHERE c.importing = 0)
     ${sessionSelect} WHERE s.key IN tree ORDER BY s.key`,
    encodeID(rootID),
  )
  if (rows.length === 0) throw noSession(rootID)
  return rows.map((row) => decodeSession(row, reader.dictionary).session)
}

/** Reads the ancestors of a session, nearest first. */
export function readParents(reader: Reader, sessionID: string): Session[] {
  const rows = reader.db.all(
    `WITH RECURSIVE chain (key, parent) AS (
       SELECT key, parent FROM sessions WHERE id = ? AND importing = 0
       UNION SELECT a.key, a.parent FROM chain JOIN sessions a ON a.key = chain.parent)
     ${sessionSelect} WHERE s.key IN (SELECT key FROM chain) ORDER BY s.key DESC`,
    encodeID(sessionID),
  )
  if (rows.length === 0) throw noSession(sessionID)
  // The chain includes the session itself, so that one query also tells whether the session exists.
  return rows.slice(1).map((row) => decodeSession(row, reader.dictionary).session)
}

export function readSessions(reader: Reader, query: SessionQuery): Page<Session> {
  const limit = checkLimit(query.limit, pageLimit)
  const order = query.order === "created" ? "created" : "updated"
  const where = conditions(reader, query)
  if (where === undefined) return { items: [] }
  if (query.cursor !== undefined) {
    const [time, key] = decodePage(order, query.cursor)
    where.push([`(s.${order}, s.key) < (?, ?)`, time as number, key as number])
  }
  // The keys are found by an index alone; only the rows of the page are read whole.
  const sql = `${sessionSelect} WHERE s.key IN (
                 SELECT s.key FROM sessions s ${indexFor(query, order)} WHERE ${where.map(([text]) => text).join(" AND ")}
                  ORDER BY s.${order} DESC, s.key DESC LIMIT ?)
                ORDER BY s.${order} DESC, s.key DESC`
  const values = where.flatMap(([, ...rest]) => rest)
  const rows = reader.db.all(sql, ...values, limit + 1)
  const isCut = rows.length > limit
  if (isCut) rows.pop()
  const items = rows.map((row) => decodeSession(row, reader.dictionary))
  const page: Page<Session> = { items: items.map((item) => item.session) }
  const last = items.at(-1)
  if (isCut && last) page.next = encodePage(order, [last.session.time[order], last.key])
  return page
}

export function sessionByKey(reader: Reader, key: number): ReturnType<typeof decodeSession> {
  const row = reader.db.get(`${sessionSelect} WHERE s.key = ?`, key) as Tuple
  return decodeSession(row, reader.dictionary)
}

type Condition = [sql: string, ...values: Value[]]

/** Returns the filters as SQL conditions, or undefined if no session can match. */
function conditions(reader: Reader, query: SessionQuery): Condition[] | undefined {
  const { dictionary } = reader
  const where: Condition[] = [["s.importing = 0"]]
  for (const [column, text] of [
    ["project", query.projectID],
    ["directory", query.directory],
    ["agent", query.agent],
  ] as const) {
    if (text === undefined) continue
    const key = dictionary.find(text)
    if (key === undefined) return undefined
    where.push([`s.${column} = ?`, key])
  }
  if (query.parentID === null) where.push(["s.parent IS NULL"])
  else if (query.parentID !== undefined) {
    const parent = reader.db.get("SELECT key FROM sessions WHERE id = ?", encodeID(query.parentID))
    if (parent === undefined) return undefined
    where.push(["s.parent = ?", parent[0] as number])
  }
  if (query.key !== undefined) where.push(["s.name = ?", query.key])
  if (query.share !== undefined) where.push(["s.share = ?", shareKey({ url: "", secret: query.share })])
  if (query.archived !== undefined) where.push([`s.archived IS ${query.archived ? "NOT NULL" : "NULL"}`])
  if (query.updated?.from !== undefined)
    where.push(["s.updated >= ?", Math.ceil(checkTime(query.updated.from))])
  if (query.updated?.to !== undefined) where.push(["s.updated < ?", Math.ceil(checkTime(query.updated.to))])
  if (query.title !== undefined) where.push(["instr(s.folded, ?) > 0", query.title.toLowerCase()])
  return where
}

/**
 * Returns the narrowest index that also gives the order, because SQLite has no statistics to choose one by. The indexes
 * over all sessions include every filtered column, so that a scan reads no table rows.
 */
function indexFor(query: SessionQuery, order: "updated" | "created"): string {
  if (query.share !== undefined) return "INDEXED BY sessions_share"
  if (query.key !== undefined) return "INDEXED BY sessions_name"
  if (typeof query.parentID === "string") return "INDEXED BY sessions_parent"
  if (order === "created") return "INDEXED BY sessions_created"
  if (query.title !== undefined || query.archived !== undefined || query.parentID === null) {
    return "INDEXED BY sessions_updated"
  }
  if (query.projectID !== undefined) return "INDEXED BY sessions_project"
  if (query.directory !== undefined) return "INDEXED BY sessions_directory"
  if (query.agent !== undefined) return "INDEXED BY sessions_agent"
  return "INDEXED BY sessions_updated"
}
