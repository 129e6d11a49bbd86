import { expect, it } from "vitest"
import { runCompactionLane } from "../support/run/compaction-lane.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("compaction crash soak")
const kills = 150 * Number(process.env.STEMMA_SOAK)

it("compacted turns survive many kills of their processes", async () => {
  await using directory = await temporaryDirectory()
  const report = await runCompactionLane({ directory: directory.path, seed, kills })
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`)
  expect(report.kills).toBe(kills)
})
