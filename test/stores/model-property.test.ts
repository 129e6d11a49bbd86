import { describe, it } from "vitest"
import { drivers } from "../support/drivers.ts"
import { checkAgainstMemory } from "../support/model-property.ts"
import { testSeed } from "../support/seed.ts"

/** `test/soak/stores.test.ts` has more and longer ones. */
const replay = testSeed("model-property")

describe.each(drivers.filter((driver) => driver.name !== "memory"))("$name", (driver) => {
  it("answers random operations with reopening as memory does", () =>
    checkAgainstMemory(driver, { ...replay, runs: 25, stepsMax: 60 }))
})
