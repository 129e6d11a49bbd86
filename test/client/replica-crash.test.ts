import { expect, it } from "vitest"
import { replicaCrashLane } from "../support/client/crash-lane.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("client replica crash")
/** `test/soak/client-replica.test.ts` runs more of these. */
const kills = 4
const cutsMin = 20

it("a client that is disconnected at any moment, by a server that is killed, ends with the same replica as an uninterrupted client and as the store", {
  timeout: 180_000,
}, async () => {
  await using directory = await temporaryDirectory()
  const report = await replicaCrashLane({ directory: directory.path, kills, sessions: 2, seed, cutsMin })
  process.stdout.write(`client replica crash: ${JSON.stringify(report)}\n`)
  expect(report.kills).toBe(kills)
  expect(report.cuts).toBeGreaterThan(cutsMin)
})
