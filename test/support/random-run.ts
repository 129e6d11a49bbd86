import fc from "fast-check"
import { isSoak } from "./seed.ts"
import { allSteps } from "./steps/index.ts"

export interface PropertyOptions {
  seed: number
  path?: string
  runs: number
  stepsMax: number
  limitMs?: number
}

/** One random step: its kind, the numbers that it draws from, and the open store that it uses. */
export interface Intent {
  step: string
  numbers: number[]
  /** For tests with clients: whether and how a client pulls after the step. */
  visit: number[]
  handle: number
}

/** The numbers that a step draws from. A step that draws only zeros is the simplest one; shrinking tries it first. */
const drawNumbers = fc.oneof(
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

/**
 * Runs a property as often as the time allows, and prints the count if it is below the wanted count. A failure shrinks
 * as long as there is time; the error contains the seed, the path and every call.
 */
export async function checkProperty<T>(
  property: fc.IAsyncProperty<T>,
  { seed, path, runs, limitMs = isSoak ? 3_500_000 : 75_000 }: PropertyOptions,
): Promise<void> {
  const result = await fc.check(property, { seed, path, numRuns: runs, interruptAfterTimeLimit: limitMs })
  if (result.failed)
    throw new Error(await fc.asyncDefaultReportMessage(result), { cause: result.errorInstance })
  if (result.interrupted) process.stdout.write(`time for ${result.numRuns} of ${runs} runs\n`)
}
