import fc from "fast-check"
import { test } from "vitest"
import { operations, promptAll } from "../support/context-play/operations.ts"
import { Play } from "../support/context-play/play.ts"
import { drawFrom } from "../support/draw.ts"
import { isSoak, repeats, testSeed } from "../support/seed.ts"
import { timedRuns } from "../support/timed-runs.ts"

const seed = testSeed("contexts of the engine")
const numRuns = repeats({ test: 20, soak: 400 })
const limitMs = isSoak ? Number.POSITIVE_INFINITY : 8_000

/**
 * The numbers that an operation draws from. They do not shrink, because other numbers would be another operation, not a
 * simpler one.
 */
const numbers = fc.noShrink(fc.array(fc.nat(9_999), { minLength: 40, maxLength: 40 }))
const name = fc.oneof(
  ...Object.entries(operations).map(([key, { weight }]) => ({ weight, arbitrary: fc.constant(key) })),
)
const story = fc.array(fc.record({ name: fc.noShrink(name), numbers }), {
  minLength: 1,
  maxLength: 24,
  size: "max",
})

test("after any operations on a session, the context is valid, fits, and contains nothing that is hidden", async () => {
  const { run, count } = timedRuns(limitMs, async (setting: number[], steps: StepsOf<typeof story>) => {
    await using play = await Play.begin(drawFrom(setting))
    for (const step of steps) await operations[step.name]!.run(play, drawFrom(step.numbers))
    await promptAll(play)
  })
  await fc.assert(fc.asyncProperty(numbers, story, run), { ...seed, numRuns })
  if (count() < numRuns) process.stdout.write(`time for ${count()} of ${numRuns} runs\n`)
})

type StepsOf<A> = A extends fc.Arbitrary<infer T> ? T : never
