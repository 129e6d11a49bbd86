import type { PermissionRequest } from "../../../protocol/index.ts"
import { permissionQueryTooBroad } from "../../refusals.ts"
import type { PermissionQuery } from "../../store.ts"
import type { Value } from "../connection/database.ts"
import { decodeID, encodeID } from "../rows/id-codec.ts"
import { parseStored } from "../rows/message-rows.ts"
import { sessionHead } from "./read-history.ts"
import type { Reader } from "./read-messages.ts"

/** Reads permission requests in the order in which they were asked. The cost depends on the number of results only. */
export function readPermissions(reader: Reader, query: PermissionQuery): PermissionRequest[] {
  const { sessionID, permissionID, open = false } = query
  if (sessionID === undefined && permissionID === undefined && !open) throw permissionQueryTooBroad()
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
  // The 16 stored bytes of an id do not include its prefix, so an id with another prefix may match.
  return permissionID === undefined ? found : found.filter((request) => request.id === permissionID)
}

/** Names the index explicitly, because SQLite has no statistics to choose one by. */
function indexFor({ sessionID, permissionID, open }: PermissionQuery): string {
  if (permissionID !== undefined) {
    return sessionID === undefined ? "INDEXED BY permissions_named" : "INDEXED BY permissions_id"
  }
  return open ? "INDEXED BY permissions_open" : "INDEXED BY permissions_id"
}
