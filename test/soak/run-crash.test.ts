import { expect, it } from "vitest"
import { runCrashLane } from "../support/run/crash-lane.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("run crash soak")
const factor = Number(process.env.STEMMA_SOAK)

it.each([
  { what: "at any moment, with snapshots", snapshots: true, by: "time", kills: 300 * factor },
  { what: "at any moment, without snapshots", snapshots: false, by: "time", kills: 300 * factor },
  { what: "between two commits", snapshots: true, by: "commit", kills: 400 * factor },
] as const)("answers survive many kills of their processes: $what", async ({ what, ...lane }) => {
  await using directory = await temporaryDirectory()
  const report = await runCrashLane({ directory: directory.path, seed, ...lane })
  process.stdout.write(`${what}: ${JSON.stringify(report, undefined, 2)}\n`)
  expect(report.kills).toBe(lane.kills)
  expect(report.starved).toBeLessThanOrEqual(lane.kills / 4)
  expect(report.takeoverMaxMs).toBeLessThan(5000)
})
