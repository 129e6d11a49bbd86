import fc from "fast-check"
import { currentHolder } from "../../src/stores/holder.ts"
import type { Scope, Store } from "../../src/stores/store.ts"
import { comparable, difference } from "./answers.ts"
import { manualClock } from "./clock.ts"
import { drawFrom } from "./draw.ts"
import { type Driver, driverNamed } from "./drivers.ts"
import { sampleIds } from "./ids.ts"
import { observe, observeChanges } from "./observe.ts"
import { checkProperty, type Intent, intents, type PropertyOptions } from "./random-run.ts"
import { sampleQueries } from "./samples.ts"
import { allSteps } from "./steps/index.ts"
import { temporaryDirectory } from "./temporary-directory.ts"
import { createWorld, disagreement, passTime, type World, withTrace } from "./world.ts"

/**
 * The same holder for every open store, as if one process had opened all of them, because answers may depend on the
 * holder.
 */
const holder = currentHolder()
const observeEvery = 8

/**
 * Runs random steps on the memory store and on a driver; fails, with the smallest list of calls, where the answers
 * differ.
 */
export async function checkAgainstMemory(driver: Driver, options: PropertyOptions): Promise<void> {
  const handles = fc.integer({ min: 1, max: 2 })
  await checkProperty(
    fc.asyncProperty(intents(options.stepsMax), handles, (list, count) => runOnce(driver, list, count)),
    options,
  )
}

async function runOnce(driver: Driver, list: Intent[], handleCount: number): Promise<void> {
  await using directory = await temporaryDirectory()
  const clock = manualClock()
  const open = () => driver.open(directory.path, { clock, holder })
  const handles: Store[] = []
  for (let i = 0; i < handleCount; i++) handles.push(await open())
  let handle = 0
  await using oracle = await driverNamed("memory").open("", { clock, holder })
  const world = createWorld({
    oracle: () => oracle,
    subjects: () => [handles[handle]!],
    clock,
    ids: sampleIds(),
    async reopen() {
      await handles[handle]!.close()
      handles[handle] = await open()
    },
  })
  try {
    for (const [index, intent] of list.entries()) {
      handle = intent.handle % handleCount
      passTime(world, (intent.numbers[0] ?? 0) % 700)
      await allSteps[intent.step]!.run(world, drawFrom(intent.numbers.slice(1)))
      if (index % observeEvery === observeEvery - 1)
        await compareAll(world, [sampleQueries[index % sampleQueries.length]!])
    }
    await compareAll(world, sampleQueries)
  } catch (error) {
    throw withTrace(error, world)
  } finally {
    for (const store of handles) await store.close()
  }
}

async function compareAll(world: World, queries: readonly string[]): Promise<void> {
  const options = {
    sessionIDs: [...world.live, ...world.removed, ...world.importing],
    blobs: world.blobs,
    nowMs: world.clock.now(),
    queries,
  }
  const expected = comparable(await observe(world.oracle, options))
  for (const store of world.subjects()) {
    const found = difference(expected, comparable(await observe(store, options)))
    if (found) throw disagreement(world, `observed state: ${found}`)
    await compareChanges(world, store)
    // The operations name blobs that were never put.
    const problems = (await store.check()).problems.filter((problem) => !problem.includes("names blob"))
    if (problems.length > 0) throw disagreement(world, `check(): ${problems.join("; ")}`)
  }
}

/** The changes since the beginning, since the middle and since recently, as each scope sees them. */
async function compareChanges(world: World, store: Store): Promise<void> {
  const { moments, live, oracle } = world
  const scopes: Scope[] = [{ directory: "/project" }, ...live.map((sessionID) => ({ sessionID }))]
  if (live[0] !== undefined) scopes.push({ treeID: live[0] })
  for (const [ours, theirs] of [[], moments[moments.length >> 1] ?? [], moments.at(-3) ?? []]) {
    for (const scope of scopes) {
      const limit = moments.length % 2 === 0 ? 1000 : 2
      const expected = await observeChanges(oracle, { scope, since: ours, limit })
      const actual = await observeChanges(store, { scope, since: theirs, limit })
      const found = difference(comparable(expected), comparable(actual))
      if (found)
        throw disagreement(world, `changes of ${JSON.stringify(scope)} since ${ours} by ${limit}: ${found}`)
    }
  }
}
