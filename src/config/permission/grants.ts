import { join } from "node:path"
import { StemmaError } from "../../protocol/index.ts"
import { Records, recordName, type StoredRecord } from "../files/records.ts"
import type { Project } from "../loaded.ts"

/**
 * A person's `always` answer: a request that matches it is no longer asked about in that project. It never overrides a
 * denial.
 */
export interface Grant {
  id: string
  permission: string
  pattern: string
  /** When the grant was given, in milliseconds since 1970. */
  time: number
  /** The session in which the grant was given. */
  sessionID?: string
}

/** The `always` answers of each project, shared by all processes. */
export interface Grants {
  /** In the order in which the grants were given. */
  list(projectID: string): Promise<readonly Grant[]>
  /** Durable on return. Adding the same permission and pattern again gives the same grant. */
  add(projectID: string, grant: Omit<Grant, "id">): Promise<Grant>
  /** Throws `not_found` if there is no grant with that id. */
  remove(projectID: string, id: string): Promise<void>
  /** One sentence for each file among the project's grants that is not a valid grant. */
  notices(projectID: string): Promise<readonly string[]>
}

/**
 * The key for the grants of a project. The project's id alone is not enough: every clone of a repository has the same
 * id, and a permission for one clone must not apply to another, where the same command may do something else.
 */
export function grantScope(project: Project): string {
  return `${project.id} ${project.root}`
}

export function openGrants(options: { directory: string }): Grants {
  const opened = new Map<string, Records>()
  const recordsOf = (projectID: string): Records => {
    const known = opened.get(projectID)
    if (known) return known
    const records = new Records(join(options.directory, recordName(projectID)))
    opened.set(projectID, records)
    return records
  }
  return {
    async list(projectID) {
      const { records } = await recordsOf(projectID).list()
      return records
        .flatMap((record) => toGrant(record) ?? [])
        .sort((a, b) => a.time - b.time || (a.id < b.id ? -1 : 1))
    },
    async add(projectID, { permission, pattern, time, sessionID }) {
      const id = recordName(permission, pattern)
      const grant = { id, permission, pattern, time, ...(sessionID !== undefined && { sessionID }) }
      await recordsOf(projectID).put(id, grant)
      return grant
    },
    async remove(projectID, id) {
      if (/^[0-9a-f]{32}$/.test(id) && (await recordsOf(projectID).remove(id))) return
      throw new StemmaError(
        "not_found",
        `There is no grant ${id} in this project. List the grants to see them.`,
      )
    },
    async notices(projectID) {
      const { records, invalid } = await recordsOf(projectID).list()
      const unknown = records.filter((record) => toGrant(record) === undefined)
      const paths = [...invalid, ...unknown.map((record) => recordsOf(projectID).path(record.name))]
      return paths.map((path) => `${path} is not a valid grant and was ignored. Delete it.`)
    },
  }
}

/** Undefined if the value is not a grant, or not the grant that the file name stands for. */
function toGrant({ name, value }: StoredRecord): Grant | undefined {
  if (typeof value !== "object" || value === null) return undefined
  const { permission, pattern, time, sessionID } = value as Record<string, unknown>
  if (typeof permission !== "string" || typeof pattern !== "string" || typeof time !== "number")
    return undefined
  if (recordName(permission, pattern) !== name) return undefined
  return { id: name, permission, pattern, time, ...(typeof sessionID === "string" && { sessionID }) }
}
