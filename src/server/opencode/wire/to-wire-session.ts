import type { FileDiff, PermissionRequest, Session, Todo } from "../../../protocol/index.ts"
import { unifiedDiff } from "../../../workspace/line-diff.ts"
import type { WireFileDiff, WirePermission, WireSession, WireTodo } from "./wire-session.ts"

/** Comparing larger files would take too long for a request. */
export const patchUnitsMax = 512 * 1024

export function toWireSession(session: Session): WireSession {
  const { id, projectID, directory, parentID, summary, share, agent, model, permission, revert } = session
  const { title, version, cost, tokens, time } = session
  return {
    id,
    slug: slugOf(id),
    projectID,
    directory,
    title,
    version,
    cost,
    tokens,
    time,
    ...(parentID !== undefined && { parentID }),
    // The diffs have their own route: here they would be sent with each change of the session.
    ...(summary && {
      summary: { additions: summary.additions, deletions: summary.deletions, files: summary.files },
    }),
    ...(share && { share: { url: share.url } }),
    ...(agent !== undefined && { agent }),
    ...(model && { model: { id: model.modelID, providerID: model.providerID } }),
    ...(permission && { permission }),
    ...(revert && { revert }),
  }
}

/** A removed session, with the few fields that are still known. */
export function toWireRemoved(
  { id, directory, parentID }: Pick<Session, "id" | "directory" | "parentID">,
  { projectID }: { projectID: string },
): WireSession {
  return {
    id,
    slug: slugOf(id),
    projectID,
    directory,
    title: "",
    version: "",
    cost: 0,
    tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
    time: { created: 0, updated: 0 },
    ...(parentID !== undefined && { parentID }),
  }
}

/** A permanent name without spaces. */
function slugOf(id: string): string {
  return id.replace(/^ses[_-]/, "").toLowerCase()
}

export function toWireTodo({ content, status, priority }: Todo): WireTodo {
  return { content, status, priority }
}

export function toWirePermission(request: PermissionRequest): WirePermission {
  const { id, sessionID, permission, patterns, metadata, always, tool } = request
  return { id, sessionID, permission, patterns, metadata, always, ...(tool && { tool }) }
}

export function toWireDiff({ file, before, after, additions, deletions }: FileDiff): WireFileDiff {
  const isSmall = before.length + after.length <= patchUnitsMax
  return {
    file,
    additions,
    deletions,
    status: diffStatus({ before, after }),
    ...(isSmall && { patch: unifiedDiff(before, after, { file }) }),
  }
}

export function diffStatus({ before, after }: Pick<FileDiff, "before" | "after">) {
  if (before === "" && after !== "") return "added"
  return after === "" && before !== "" ? "deleted" : "modified"
}
