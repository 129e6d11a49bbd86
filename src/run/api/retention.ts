import { durationMs } from "../../config/files/schema.ts"
import type { Session } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"
import type { Engine } from "../engine.ts"
import { isBusy } from "../schedule/activity.ts"
import type { Coordinator } from "../schedule/coordinator.ts"

/** A session that the config's `retention` removes. */
export interface Expired {
  id: string
  parentID?: string
  title: string
  /** The `retention` setting that has expired for it. */
  why: "children" | "archived"
  updated: number
}

interface RetentionOptions {
  engine: Engine
  coordinator: Coordinator
  directory: string
  isDryRun: boolean
}

/**
 * Removes the sessions that the config's `retention` says are old enough: children, and archived sessions with their
 * descendants. Sessions of other projects stay, and so do running sessions and sessions with a newer descendant.
 */
export async function applyRetention(options: RetentionOptions): Promise<Expired[]> {
  const { engine, coordinator, directory, isDryRun } = options
  const { loaded } = await (await engine.projects.get(directory)).setup()
  const limits = limitsOf(loaded.config.retention, engine.clock.now())
  const gone = new Map<string, Expired>()
  if (Object.keys(limits).length === 0) return []
  for (const session of await oldSessions(engine.store, { projectID: loaded.project.id, limits })) {
    if (gone.has(session.id)) continue
    const why = reasonOf(session, limits)
    const tree = why && (await expiredTree(engine.store, { session, why, limits }))
    if (!why || !tree || (await isAnyBusy(coordinator, tree))) continue
    if (!isDryRun) await engine.store.remove(session.id)
    for (const one of tree) gone.set(one.id, expired(one, why))
  }
  return [...gone.values()]
}

type Limits = Partial<Record<Expired["why"], number>>

function limitsOf(retention: { children?: string; archived?: string }, nowMs: number): Limits {
  const { children, archived } = retention
  return {
    ...(children !== undefined && { children: nowMs - durationMs(children) }),
    ...(archived !== undefined && { archived: nowMs - durationMs(archived) }),
  }
}

/** Sessions that may be old enough, parents before their children. */
async function oldSessions(
  store: Store,
  { projectID, limits }: { projectID: string; limits: Limits },
): Promise<Session[]> {
  const found: Session[] = []
  let cursor: string | undefined
  do {
    const page = await store.sessions({
      projectID,
      order: "created",
      limit: 1000,
      ...(cursor !== undefined && { cursor }),
    })
    found.push(...page.items.filter((session) => reasonOf(session, limits)))
    cursor = page.next
  } while (cursor !== undefined)
  return found.reverse()
}

function reasonOf({ parentID, time }: Session, { children, archived }: Limits): Expired["why"] | undefined {
  if (archived !== undefined && time.archived !== undefined && time.archived < archived) return "archived"
  return children !== undefined && parentID !== undefined && time.updated < children ? "children" : undefined
}

/** The session and its descendants; undefined if one of them is not old enough. */
async function expiredTree(
  store: Store,
  { session, why, limits }: { session: Session; why: Expired["why"]; limits: Limits },
): Promise<Session[] | undefined> {
  const tree = await store.tree(session.id)
  const limit = limits[why]!
  const isOld = ({ time, projectID }: Session) =>
    projectID === session.projectID && Math.max(time.archived ?? 0, time.updated) < limit
  return tree.every(isOld) ? tree : undefined
}

async function isAnyBusy(coordinator: Coordinator, tree: readonly Session[]): Promise<boolean> {
  for (const { id } of tree) if (await isBusy(coordinator, id)) return true
  return false
}

function expired({ id, parentID, title, time }: Session, why: Expired["why"]): Expired {
  return { id, ...(parentID !== undefined && { parentID }), title, why, updated: time.updated }
}
