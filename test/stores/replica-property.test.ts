import { describe, it } from "vitest"
import { drivers } from "../support/drivers.ts"
import { checkReplicas } from "../support/replica-property.ts"
import { testSeed } from "../support/seed.ts"

/** `test/soak/stores.test.ts` runs more and longer ones. */
const replay = testSeed("replica-property")

describe.each(drivers)("$name", (driver) => {
  it("brings replicas with gaps and reconnects to its own state", () =>
    checkReplicas(driver, { ...replay, runs: 25, stepsMax: 60 }))
})
