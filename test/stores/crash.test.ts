import { expect, it } from "vitest"
import { crashLane } from "../support/crash-lane.ts"
import { durableDrivers } from "../support/drivers.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("crash")

it.concurrent.each(durableDrivers)(
  "$name loses nothing that it acknowledged when its process is killed 100 times",
  { timeout: 180_000 },
  async (driver) => {
    await using directory = await temporaryDirectory()
    const report = await crashLane(driver, { directory: directory.path, kills: 100, seed })
    process.stdout.write(`${driver.name}: ${JSON.stringify(report)}\n`)
    expect(report.kills).toBe(100)
    expect(report.acknowledged).toBeGreaterThan(1000)
  },
)
