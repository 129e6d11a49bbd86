import fc from "fast-check"
import { currentHolder } from "../../src/stores/holder.ts"
import type { Store } from "../../src/stores/store.ts"
import { manualClock } from "./clock.ts"
import { drawFrom } from "./draw.ts"
import type { Driver } from "./drivers.ts"
import { sampleIds } from "./ids.ts"
import { checkProperty, type Intent, intents, type PropertyOptions } from "./random-run.ts"
import { emptyReplica, pullAll, pullSome, type Replica, replicaDifference } from "./replica.ts"
import { allSteps } from "./steps/index.ts"
import { temporaryDirectory } from "./temporary-directory.ts"
import { createWorld, passTime, type World, withTrace } from "./world.ts"

/** Random steps on a store while clients connect and disconnect; at the end each client has the state of the store. */
export async function checkReplicas(driver: Driver, options: PropertyOptions): Promise<void> {
  await checkProperty(
    fc.asyncProperty(intents(options.stepsMax), (list) => runOnce(driver, list)),
    options,
  )
}

async function runOnce(driver: Driver, list: Intent[]): Promise<void> {
  await using directory = await temporaryDirectory()
  const clock = manualClock()
  const holder = currentHolder()
  const handle = { store: await driver.open(directory.path, { clock, holder }) }
  const world: World = createWorld({
    oracle: () => handle.store,
    subjects: () => [],
    clock,
    ids: sampleIds(),
    async reopen() {
      if (!driver.durable) return
      await handle.store.close()
      handle.store = await driver.open(directory.path, { clock, holder })
    },
  })
  const replicas: Replica[] = [emptyReplica({ directory: "/project" })]
  try {
    for (const intent of list) {
      passTime(world, (intent.numbers[0] ?? 0) % 700)
      await allSteps[intent.step]!.run(world, drawFrom(intent.numbers.slice(1)))
      const draw = drawFrom(intent.visit)
      if (draw.chance(15) && world.live.length > 0 && replicas.length < 6) {
        const id = draw.one(world.live)
        replicas.push(emptyReplica(draw.chance(50) ? { sessionID: id } : { treeID: id }))
      }
      if (draw.chance(40)) {
        world.trace.push("a replica pulls")
        await pullSome(draw.one(replicas), handle.store, draw)
      }
    }
    for (const replica of replicas) await checkReplica(replica, handle.store, world)
  } catch (error) {
    throw withTrace(error, world)
  } finally {
    await handle.store.close()
  }
}

async function checkReplica(replica: Replica, store: Store, world: World): Promise<void> {
  await pullAll(replica, store)
  const inScope = await sessionsInScope(replica, store, world.live)
  for (const id of inScope) {
    const found = await replicaDifference(replica, store, id)
    if (found) {
      const scope = JSON.stringify(replica.scope)
      throw new Error(`the replica of ${scope} differs: ${found}`)
    }
  }
  for (const [id, view] of replica.views) {
    const isGone = view.removed || view.session === undefined
    if (!inScope.includes(id) && !isGone && !isForgotten(id, world)) {
      throw new Error(`the replica still has ${id}, which is gone`)
    }
  }
}

const tombstoneMs = 30 * 86_400_000

/** The session was removed so long ago that its tombstone may be collected; after that no row reports the removal. */
function isForgotten(id: string, world: World): boolean {
  const removedAt = world.removedAt.get(id)
  return removedAt !== undefined && world.clock.now() - removedAt >= tombstoneMs
}

async function sessionsInScope({ scope }: Replica, store: Store, live: readonly string[]): Promise<string[]> {
  const sessions = await Promise.all(live.map((id) => store.session(id)))
  if ("sessionID" in scope) return sessions.filter(({ id }) => id === scope.sessionID).map(({ id }) => id)
  if ("directory" in scope) {
    return sessions.filter(({ directory }) => directory === scope.directory).map(({ id }) => id)
  }
  const parents = new Map(sessions.map(({ id, parentID }) => [id, parentID]))
  const isUnder = (id: string | undefined): boolean =>
    id !== undefined && (id === scope.treeID || isUnder(parents.get(id)))
  return live.filter(isUnder)
}
