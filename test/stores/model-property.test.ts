import { describe, it } from "vitest"
import { drivers } from "../support/drivers.ts"
import { checkAgainstMemory } from "../support/model-property.ts"
import { testSeed } from "../support/seed.ts"

/** `test/soak/stores.test.ts` runs more and longer ones. */
const replay = testSeed("model-property")

describe.each(drivers.filter((driver) => driver.name !== "memory"))("$name", (driver) => {
  it("gives the same answers as the memory store to random operations and reopenings", () =>
    checkAgainstMemory(driver, { ...replay, runs: 25, stepsMax: 60 }))
})
