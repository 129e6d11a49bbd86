import { expect, it } from "vitest"
import { replicaCrashLane } from "../support/client/crash-lane.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("client replica soak")
const factor = Number(process.env.STEMMA_SOAK)

it.each([0, 1, 2, 3, 4])("replicas survive many kills of their server: %i", async (lane) => {
  await using directory = await temporaryDirectory()
  const kills = 40 * factor
  const report = await replicaCrashLane({
    directory: directory.path,
    kills,
    sessions: 3,
    seed: seed + lane,
    cutsMin: kills,
  })
  process.stdout.write(`${JSON.stringify(report)}\n`)
  expect(report.kills).toBe(kills)
})
