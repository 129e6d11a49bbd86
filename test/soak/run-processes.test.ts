import { it } from "vitest"
import { expectGoodPeers } from "../support/run/expect-peers.ts"
import { runPeers } from "../support/run/peers.ts"
import { soakTimes, testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("run processes soak")

it("two processes use one session at the same time, many times", async () => {
  for (let round = 0; round < soakTimes(50); round++) {
    process.stdout.write(`round ${round}: STEMMA_SEED=${seed + round}\n`)
    await using directory = await temporaryDirectory()
    expectGoodPeers(await runPeers({ directory: directory.path, seed: seed + round, own: 8, shared: 4 }))
  }
})
