import type { PermissionRequest } from "../../../protocol/index.ts"
import { noPermissionQuery } from "../../refusals.ts"
import type { PermissionQuery } from "../../store.ts"
import type { Value } from "../connection/database.ts"
import { parseStored } from "../rows/codec.ts"
import { decodeID, encodeID } from "../rows/id-codec.ts"
import { sessionHead } from "./read-history.ts"
import type { Reader } from "./read-messages.ts"

/** Permission requests in the order in which they were asked. What it costs depends on how many it gives. */
export function readPermissions(reader: Reader, query: PermissionQuery): PermissionRequest[] {
  const { sessionID, permissionID, open = false } = query
  if (sessionID === undefined && permissionID === undefined && !open) throw noPermissionQuery()
  const where: [sql: string, ...values: Value[]][] = [["s.importing = 0"]]
  if (sessionID !== undefined) where.push(["p.session = ?", sessionHead(reader, sessionID).key])
  if (permissionID !== undefined) where.push(["p.id = ?", encodeID(permissionID)])
  if (open) where.push(["p.open = 1"])
  const rows = reader.db.all(
    `SELECT p.data, s.id FROM permissions p ${indexFor(query)} CROSS JOIN sessions s ON s.key = p.session
      WHERE ${where.map(([text]) => text).join(" AND ")} ORDER BY p.key`,
    ...where.flatMap(([, ...values]) => values),
  )
  const found = rows.map(([data, id]) => {
    const owner = decodeID("session", id)
    const request = parseStored(data, `A permission request of session ${owner}`)
    return { ...(request as PermissionRequest), sessionID: owner }
  })
  // Bytes stand for an id of ours whatever its first letters are.
  return permissionID === undefined ? found : found.filter((request) => request.id === permissionID)
}

/** SQLite would otherwise guess from no statistics. */
function indexFor({ sessionID, permissionID, open }: PermissionQuery): string {
  if (permissionID !== undefined) {
    return sessionID === undefined ? "INDEXED BY permissions_named" : "INDEXED BY permissions_id"
  }
  return open ? "INDEXED BY permissions_open" : "INDEXED BY permissions_id"
}
