import { durationMs } from "../../config/files/schema.ts"
import type { Session } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"
import type { Engine } from "../engine.ts"
import { isBusy } from "../schedule/activity.ts"
import type { Coordinator } from "../schedule/coordinator.ts"

/** A session that the config's retention lets go of. */
export interface Expired {
  id: string
  parentID?: string
  title: string
  /** Which of the config's times is over. */
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
 * Removes what the config of a directory says is old enough: children, and archived sessions with what is below them. Only
 * sessions of that project, never one that is at work, and never one below which something is newer.
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

/** Those that may be old enough, those above before those below them. */
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

/** The session with all below it; undefined if something there is to stay. */
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
