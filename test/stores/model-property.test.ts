import { describe, it } from "vitest"
import { drivers } from "../support/drivers.ts"
import { checkAgainstMemory } from "../support/model-property.ts"
import { testSeed } from "../support/seed.ts"

const replay = testSeed("model-property")

describe.each(drivers.filter((driver) => driver.name !== "memory"))("$name", (driver) => {
  it("answers random operations with reopening as memory does", { timeout: 270_000 }, () =>
    checkAgainstMemory(driver, { ...replay, runs: 60, stepsMax: 60 }),
  )
})
