import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { systemClock } from "../../../protocol/index.ts"
import { currentHolder } from "../../holder.ts"
import { reread } from "../catalog/open.ts"
import { Core } from "../core.ts"
import { Files } from "../disk/files.ts"
import { StoreLock } from "../disk/lock.ts"
import { catchUpJob } from "./write-jobs.ts"
import { Writer } from "./writer.ts"

let directory = ""

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "stemma-writer-"))
})

afterAll(() => rm(directory, { recursive: true, force: true }))

async function openWriter(): Promise<Writer> {
  const core = new Core({
    files: new Files(directory),
    storeID: "a",
    clock: systemClock,
    holder: currentHolder(),
    durability: "normal",
    readOnly: false,
    onWarning: () => undefined,
  })
  await reread(core, { locked: true })
  return new Writer(core, new StoreLock(directory))
}

describe("a writer", () => {
  it("runs a job that is submitted in the tick in which the last run ends", async () => {
    const writer = await openWriter()
    for (let ticks = 0; ticks < 8; ticks++) {
      const second = writer.submit(catchUpJob([])).then(async () => {
        for (let tick = 0; tick < ticks; tick++) await undefined
        await writer.submit(catchUpJob([]))
        return "done"
      })
      const late = sleep(2000, `never done, ${ticks} ticks later`, { ref: false })
      expect(await Promise.race([second, late])).toBe("done")
    }
    await writer.close()
  })

  it("rejects a job that fails and runs the next job", async () => {
    const writer = await openWriter()
    const failing = catchUpJob([], () => Promise.reject(new Error("no")))
    const both = [writer.submit(failing), writer.submit(catchUpJob([]))]
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(["rejected", "fulfilled"])
    await expect(writer.submit(failing)).rejects.toThrow("no")
    await writer.submit(catchUpJob([]))
    await writer.close()
  })
})
