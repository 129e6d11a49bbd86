import { describe, it } from "vitest"
import { drivers } from "../support/drivers.ts"
import { checkReplicas } from "../support/replica-property.ts"
import { testSeed } from "../support/seed.ts"

const replay = testSeed("replica-property")

describe.each(drivers)("$name", (driver) => {
  it("gives replicas with gaps and reconnects its own state", { timeout: 270_000 }, () =>
    checkReplicas(driver, { ...replay, runs: 60, stepsMax: 60 }),
  )
})
