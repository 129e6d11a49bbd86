import { expect, it } from "vitest"
import { crashLane } from "../support/crash-lane.ts"
import { durableDrivers } from "../support/drivers.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("crash")
/** `test/soak/stores.test.ts` runs more of these. */
const kills = 25

it.concurrent.each(durableDrivers)(
  "$name loses no acknowledged commit when its process is killed again and again",
  async (driver) => {
    await using directory = await temporaryDirectory()
    const report = await crashLane(driver, { directory: directory.path, kills, seed })
    process.stdout.write(`${driver.name}: ${JSON.stringify(report)}\n`)
    expect(report.kills).toBe(kills)
    expect(report.acknowledged).toBeGreaterThan(10 * kills)
  },
)
