import fc from "fast-check"
import { test } from "vitest"
import { operations, promptAll } from "../support/context-play/operations.ts"
import { Play } from "../support/context-play/play.ts"
import { drawFrom } from "../support/draw.ts"
import { checkProperty } from "../support/random-run.ts"
import { testSeed } from "../support/seed.ts"

const seed = testSeed("contexts of the engine")
const runs = Number(process.env.STEMMA_RUNS ?? 40)

/** What an operation draws from. Other numbers would be another operation, and no simpler one. */
const numbers = fc.noShrink(fc.array(fc.nat(9_999), { minLength: 40, maxLength: 40 }))
const name = fc.oneof(
  ...Object.entries(operations).map(([key, { weight }]) => ({ weight, arbitrary: fc.constant(key) })),
)
const story = fc.array(fc.record({ name: fc.noShrink(name), numbers }), {
  minLength: 1,
  maxLength: 24,
  size: "max",
})

test("whatever happens to a session, what the model is shown is valid, fits, and has nothing that is hidden", async () => {
  const property = fc.asyncProperty(numbers, story, async (setting, steps) => {
    await using play = await Play.begin(drawFrom(setting))
    for (const step of steps) await operations[step.name]!.run(play, drawFrom(step.numbers))
    await promptAll(play)
  })
  const limitMs = process.env.STEMMA_RUNS === undefined ? 9_000 : 600_000
  await checkProperty(property, { ...seed, runs, stepsMax: 24, limitMs })
}, 620_000)
