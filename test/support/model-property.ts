import fc from "fast-check"
import { currentHolder } from "../../src/stores/holder.ts"
import type { Scope, Store } from "../../src/stores/store.ts"
import { comparable, difference } from "./answers.ts"
import { manualClock } from "./clock.ts"
import { drawFrom } from "./draw.ts"
import { type Driver, driverNamed } from "./drivers.ts"
import { sampleIds } from "./ids.ts"
import { observe, observeChanges } from "./observe.ts"
import { sampleQueries } from "./samples.ts"
import { allSteps } from "./steps/index.ts"
import { temporaryDirectory } from "./temporary-directory.ts"
import { createWorld, disagreement, passTime, type World, withTrace } from "./world.ts"

export interface PropertyOptions {
  seed: number
  path?: string
  runs: number
  stepsMax: number
  limitMs?: number
}

/** One random step: its kind, the numbers that it draws from, and which open store it goes to. */
export interface Intent {
  step: string
  numbers: number[]
  /** For tests with clients: whether and how one of them pulls after the step. */
  visit: number[]
  handle: number
}

/** What a step draws from. A step that draws only zeros is the simplest one, and is tried first when shrinking. */
export const drawNumbers = fc.oneof(
  { withCrossShrink: true },
  { weight: 1, arbitrary: fc.constant<number[]>([]) },
  { weight: 30, arbitrary: fc.array(fc.nat(9999), { minLength: 14, maxLength: 14 }) },
)

const stepName = fc.oneof(
  ...Object.entries(allSteps).map(([name, { weight }]) => ({ weight, arbitrary: fc.constant(name) })),
)

export const intents = (stepsMax: number): fc.Arbitrary<Intent[]> =>
  fc.array(
    fc.record({
      step: stepName,
      numbers: drawNumbers,
      visit: drawNumbers,
      handle: fc.nat(1),
    }),
    { minLength: 1, maxLength: stepsMax, size: "max" },
  )

/** The same for every open store, as if one process had them all: answers may depend on who asks. */
const holder = currentHolder()
/** The limits of a run: what fails is made smaller as long as there is time; its message has the seed and the path. */
export function propertyParameters({ seed, path, runs, limitMs = 240_000 }: PropertyOptions) {
  return { seed, path, numRuns: runs, interruptAfterTimeLimit: limitMs, markInterruptAsFailure: true }
}

const observeEvery = 8

/** Random steps on memory and on a driver; fails, with the smallest list of calls, where the answers differ. */
export async function checkAgainstMemory(driver: Driver, options: PropertyOptions): Promise<void> {
  await fc.assert(
    fc.asyncProperty(intents(options.stepsMax), fc.integer({ min: 1, max: 2 }), (list, handles) =>
      runOnce(driver, list, handles),
    ),
    propertyParameters(options),
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

/** What changed since the beginning, since the middle and since lately, as each scope sees it. */
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
