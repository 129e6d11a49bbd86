import { spawnSync } from "node:child_process"
import { mkdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it, vi } from "vitest"
import { startChild } from "../support/child-process.ts"
import { type Driver, driverNamed, durableDrivers } from "../support/drivers.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const traces = spawnSync("strace", ["-f", "-o", "/dev/null", "true"]).status === 0
if (!traces)
  process.stdout.write(
    "sync: strace cannot be used here; the pragma of every connection is checked instead\n",
  )

/** How often the process synced a file between each request and its answer, by the name of the request. */
async function countSyncs(driver: Driver, durability: "normal" | "full"): Promise<Map<string, number>> {
  await using directory = await temporaryDirectory()
  const trace = join(directory.path, "trace")
  const stored = join(directory.path, "store")
  await mkdir(stored)
  await using child = startChild("sync-child.ts", {
    output: join(directory.path, "output"),
    args: [driver.name, durability, stored],
    wrapper: ["strace", "-f", "-s", "64", "-e", "trace=write,fsync,fdatasync", "-o", trace],
  })
  const { code } = await child.ended
  expect(`${code} ${child.errors()}`).toBe("0 ")
  const syncs = new Map<string, number>()
  let request: string | undefined
  for (const line of (await readFile(trace, "utf8")).split("\n")) {
    const mark = /write\(1, "(request|answer) (.*?)\\n"/.exec(line)
    if (mark) {
      request = mark[1] === "request" ? mark[2]! : undefined
      if (request !== undefined) syncs.set(request, 0)
    } else if (request !== undefined && /(fsync|fdatasync)(\(\d+\)| resumed>.*\)) += 0/.test(line)) {
      syncs.set(request, syncs.get(request)! + 1)
    }
  }
  return syncs
}

describe.each(durableDrivers)("$name", (driver) => {
  it.runIf(traces)('syncs between every request and its answer with durability "full"', async () => {
    const full = await countSyncs(driver, "full")
    expect(full.size).toBe(11)
    expect([...full].filter(([, count]) => count === 0)).toEqual([])
    const normal = await countSyncs(driver, "normal")
    expect(sum(normal)).toBeLessThan(sum(full))
  })
})

function sum(syncs: Map<string, number>): number {
  return [...syncs.values()].reduce((total, count) => total + count, 0)
}

it.each([
  ["normal", 1],
  ["full", 2],
] as const)(
  "sqlite with durability %s has synchronous = %i on every connection that writes",
  async (durability, level) => {
    await using directory = await temporaryDirectory()
    const connections = new Set<DatabaseSync>()
    const exec = vi.spyOn(DatabaseSync.prototype, "exec")
    const prepare = vi.spyOn(DatabaseSync.prototype, "prepare")
    try {
      await using store = await driverNamed("sqlite").open(directory.path, { durability })
      await store.sessions()
      for (const context of [...exec.mock.contexts, ...prepare.mock.contexts])
        connections.add(context as DatabaseSync)
      const levels = [...connections]
        .filter((one) => one.isOpen)
        .map((one) => one.prepare("PRAGMA synchronous").get())
      expect(levels.length).toBeGreaterThan(0)
      for (const found of levels) expect(found).toEqual({ synchronous: level })
    } finally {
      exec.mockRestore()
      prepare.mockRestore()
    }
  },
)
