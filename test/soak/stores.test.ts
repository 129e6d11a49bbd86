import { describe, expect, it } from "vitest"
import { crashLane } from "../support/crash-lane.ts"
import { drivers, durableDrivers } from "../support/drivers.ts"
import { checkAgainstMemory } from "../support/model-property.ts"
import { checkReplicas } from "../support/replica-property.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const replay = testSeed("soak")
const factor = Number(process.env.STEMMA_SOAK)

describe.each(durableDrivers)("$name", (driver) => {
  it("gives the same answers as the memory store to many long lists of random operations", () =>
    checkAgainstMemory(driver, { ...replay, runs: 500 * factor, stepsMax: 200 }))

  it("loses no acknowledged commit in many kills", async () => {
    await using directory = await temporaryDirectory()
    const kills = 500 * factor
    const report = await crashLane(driver, { directory: directory.path, kills, seed: replay.seed })
    process.stdout.write(`${driver.name}: ${JSON.stringify(report)}\n`)
    expect(report.kills).toBe(kills)
  })
})

describe.each(drivers)("$name", (driver) => {
  it("brings many replicas to its own state", () =>
    checkReplicas(driver, { ...replay, runs: 1000 * factor, stepsMax: 120 }))
})
