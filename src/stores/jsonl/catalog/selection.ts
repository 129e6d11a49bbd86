import { ancestors, type PlainSession } from "../../plain/index.ts"
import type { PermissionQuery, Scope, SearchQuery } from "../../store.ts"
import type { Core, Entry } from "../core.ts"

/** True if the main file is not as long as what is accounted for, and nobody has looked at it since it is so. */
export function hasGrown(core: Core, replicaPart: Entry): boolean {
  const size = core.files.stat(core.mainFile(replicaPart))?.size
  // Whoever may not take the lock cannot tell a file that is gone from one that another process is about to write.
  if (size === undefined) return !core.readOnly
  if (size === replicaPart.main || size === replicaPart.seen) return false
  replicaPart.seen = size
  return true
}

/** True if a session may be in scope. */
export function isNear(core: Core, session: PlainSession, scope: Scope): boolean {
  const { id, directory } = session.info
  if ("sessionID" in scope) return id === scope.sessionID
  if ("directory" in scope) return directory === scope.directory
  return id === scope.treeID || ancestors(core.state, session).includes(scope.treeID)
}

/** The sessions that a look for permission requests must read. */
export function asked(core: Core, { open }: PermissionQuery): string[] {
  return [...core.entries.values()]
    .filter(
      ({ problem, questions }) => !problem && questions !== "none" && !(open && questions === "answered"),
    )
    .map(({ id }) => id)
}

/** The sessions that a search must read: those that it names, and all that may share messages with them. */
export function searched(core: Core, query: SearchQuery): string[] {
  const { sessionID, projectID, directory } = query
  const families = new Set<string>()
  for (const replicaPart of core.entries.values()) {
    const info = core.state.sessions.get(replicaPart.id)?.info
    if (!info || replicaPart.problem) continue
    if (sessionID !== undefined && info.id !== sessionID) continue
    if (projectID !== undefined && info.projectID !== projectID) continue
    if (directory !== undefined && info.directory !== directory) continue
    families.add(replicaPart.family)
  }
  return [...core.entries.values()]
    .filter((replicaPart) => families.has(replicaPart.family) && !replicaPart.problem)
    .map((replicaPart) => replicaPart.id)
}
