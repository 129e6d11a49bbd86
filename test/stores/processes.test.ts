import { join } from "node:path"
import { expect, it } from "vitest"
import { startChild } from "../support/child-process.ts"
import type { InboxLine } from "../support/children/inbox-child.ts"
import type { WatchGo, WatchLine } from "../support/children/watch-child.ts"
import { durableDrivers } from "../support/drivers.ts"
import { type CrowdReport, makeSessions, runCrowd } from "../support/inbox-crowd.ts"
import { isSoak, repeats, testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("processes")
const admittedMin = 100
const crowds = {
  sqlite: { workers: 8, kills: isSoak ? 6 : 3 },
  jsonl: { workers: 3, kills: isSoak ? 3 : 2 },
  memory: { workers: 0, kills: 0 },
}

it.each(durableDrivers)(
  "$name: items that several processes admit are taken once and in order, even if processes are killed and one collects",
  async (driver) => {
    for (let round = 0; round < repeats({ test: 1, soak: 10 }); round++) {
      await using directory = await temporaryDirectory()
      const report = await runCrowd(driver, {
        directory: directory.path,
        seed: seed + round,
        durationMs: isSoak ? 7000 : 3000,
        admittedMin,
        ...crowds[driver.name],
      })
      await using _store = report.store
      await checkCrowd(report)
    }
  },
)

async function checkCrowd({ store, sessionIDs, outputs }: CrowdReport): Promise<void> {
  const all = outputs.flat()
  expect(all.filter((line) => "failed" in line)).toEqual([])
  const admitted = all.filter((line) => "admitted" in line)
  const tried = new Set(all.flatMap((line) => ("admitting" in line ? [line.admitting] : [])))
  const took = all.flatMap((line) => ("took" in line ? [line.took] : []))
  const counts = { processes: outputs.length - 1, admitted: admitted.length, taken: took.length }
  process.stdout.write(`${store.name}: ${JSON.stringify(counts)}\n`)
  expect(admitted.length).toBeGreaterThan(admittedMin)
  expect(repeated(took)).toEqual([])
  expect(repeated(admitted.filter((line) => !line.duplicate).map((line) => line.admitted))).toEqual([])

  const locations = new Map<string, { sessionID: string; position: number }>()
  for (const sessionID of sessionIDs) {
    const session = await store.session(sessionID)
    const { items } = await store.history(sessionID, { take: "start", limit: 1000 })
    expect(items.map((item) => item.position)).toEqual(items.map((_, index) => index))
    // One commit made the session, one commit admitted each item, one commit took it.
    expect(session.seq).toBe(1 + 2 * items.length)
    expect(await store.inbox(sessionID)).toEqual([])
    for (const { message, parts, position } of items) {
      expect(locations.has(message.id)).toBe(false)
      expect(tried.has(message.id)).toBe(true)
      expect(parts).toMatchObject([{ type: "text", text: `prompt ${message.id}` }])
      locations.set(message.id, { sessionID, position })
    }
  }
  for (const line of admitted) expect(locations.get(line.admitted)?.sessionID).toBe(line.sessionID)
  for (const id of took) expect(locations.has(id)).toBe(true)
  for (const output of outputs) expectOwnOrder(output, locations)
  expect((await store.check()).problems).toEqual([])
}

/** The items of one process are in the history in the order of their admission. */
function expectOwnOrder(
  output: InboxLine[],
  locations: Map<string, { sessionID: string; position: number }>,
): void {
  const newest = new Map<string, number>()
  for (const line of output) {
    if (!("admitted" in line) || line.duplicate) continue
    const location = locations.get(line.admitted)!
    expect(location.position).toBeGreaterThan(newest.get(location.sessionID) ?? -1)
    newest.set(location.sessionID, location.position)
  }
}

function repeated(ids: string[]): string[] {
  const seen = new Set<string>()
  return ids.filter((id) => seen.size === seen.add(id).size)
}

it.each(durableDrivers)("$name: each process sees the others' commits within 100 ms", async (driver) => {
  await using directory = await temporaryDirectory()
  await using store = await driver.open(directory.path)
  const sessionIDs = await makeSessions(store, 3)
  const writes = 40
  const children = sessionIDs.map((_, number) =>
    startChild("watch-child.ts", {
      output: join(directory.path, `child-${number}`),
      args: [driver.name],
    }),
  )
  try {
    for (const child of children) await child.ready
    for (const [number, child] of children.entries()) {
      child.process.send({
        directory: directory.path,
        sessionID: sessionIDs[number]!,
        others: sessionIDs.filter((_, index) => index !== number),
        writes,
      } satisfies WatchGo)
    }
    for (const child of children) await child.ended
    const outputs = children.map((child) => child.lines<WatchLine>())
    expect(outputs.flat().filter((line) => "failed" in line)).toEqual([])
    const wroteAt = new Map(
      outputs.flat().flatMap((line) => ("wrote" in line ? [[line.wrote, line.atMs]] : [])),
    )
    expect(wroteAt.size).toBe(3 * writes)
    const delays: number[] = []
    for (const [number, output] of outputs.entries()) {
      const saw = output.filter((line) => "saw" in line)
      for (const line of saw) delays.push(line.atMs - wroteAt.get(line.saw)!)
      for (const other of sessionIDs.filter((_, index) => index !== number)) {
        expect(saw.filter((line) => line.sessionID === other).at(-1)?.saw).toBe(`${other} ${writes}`)
      }
    }
    delays.sort((a, b) => a - b)
    expect(delays.length).toBeGreaterThan(writes)
    expect(delays[Math.floor(delays.length / 2)]).toBeLessThan(100)
  } finally {
    for (const child of children) await child[Symbol.asyncDispose]()
  }
})
