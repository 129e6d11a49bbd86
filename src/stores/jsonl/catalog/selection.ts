import { ancestors, type PlainSession } from "../../plain/index.ts"
import type { PermissionQuery, Scope, SearchQuery } from "../../store.ts"
import type { Core, TrackedSession } from "../core.ts"

/** True if the size of the main file differs from the accounted bytes, and from the size at the last check. */
export function hasNewSize(core: Core, tracked: TrackedSession): boolean {
  const size = core.files.stat(core.mainFile(tracked))?.size
  // A read-only store takes no lock, so it cannot tell a missing file from a file that another process is about to
  // write.
  if (size === undefined) return !core.readOnly
  if (size === tracked.main || size === tracked.seen) return false
  tracked.seen = size
  return true
}

/** True if a session may be in the scope. */
export function mayBeInScope(core: Core, session: PlainSession, scope: Scope): boolean {
  const { id, directory } = session.info
  if ("sessionID" in scope) return id === scope.sessionID
  if ("directory" in scope) return directory === scope.directory
  return id === scope.treeID || ancestors(core.state, session).includes(scope.treeID)
}

/** Returns the sessions that must be loaded to answer a query for permission requests. */
export function sessionsWithPermissions(core: Core, { open }: PermissionQuery): string[] {
  return [...core.tracked.values()]
    .filter(
      ({ problem, questions }) => !problem && questions !== "none" && !(open && questions === "answered"),
    )
    .map(({ id }) => id)
}

/**
 * Returns the sessions that a search must load: the sessions that its filters select, and all sessions that may share
 * messages with them.
 */
export function sessionsToSearch(core: Core, query: SearchQuery): string[] {
  const { sessionID, projectID, directory } = query
  const families = new Set<string>()
  for (const tracked of core.tracked.values()) {
    const info = core.state.sessions.get(tracked.id)?.info
    if (!info || tracked.problem) continue
    if (sessionID !== undefined && info.id !== sessionID) continue
    if (projectID !== undefined && info.projectID !== projectID) continue
    if (directory !== undefined && info.directory !== directory) continue
    families.add(tracked.family)
  }
  return [...core.tracked.values()]
    .filter((tracked) => families.has(tracked.family) && !tracked.problem)
    .map((tracked) => tracked.id)
}
