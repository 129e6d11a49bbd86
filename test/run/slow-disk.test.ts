import { readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { expect, it } from "vitest"
import { openStore } from "../../src/index.ts"
import { streamingServer } from "../support/run/streaming-server.ts"
import { randomFrom, repeats, testSeed } from "../support/seed.ts"

const { seed } = testSeed("slow disk")
const random = randomFrom(seed)

/** Text that was told earlier than this before the kill must be stored. */
const toldMs = 100
/** As long as this, another process holds SQLite's write lock. */
const holdMs = 300

it("a server that is killed while its store cannot commit for long has stored all text that was told 100 ms before", {
  timeout: 120_000,
}, async () => {
  for (let kill = 0; kill < repeats({ test: 3, soak: 40 }); kill++) {
    await using scene = await streamingServer()
    using lock = new WriteLock(scene.database)
    for (let hold = 0; hold < 2; hold++) await lock.holdFor(holdMs)
    const held = lock.holdFor(holdMs)
    await delay(holdMs * (0.4 + random() * 0.5))
    const killedMs = await scene.kill()
    await held
    await using store = await openStore({ path: scene.database })
    expect(scene.told.parts.size).toBeGreaterThanOrEqual(3)
    expect(await scene.told.lost(store, killedMs - toldMs)).toEqual([])
  }
})

it("the first time that the store cannot commit, a killed server loses at most 100 ms of text", {
  timeout: 120_000,
}, async () => {
  for (let kill = 0; kill < repeats({ test: 2, soak: 20 }); kill++) {
    await using scene = await streamingServer()
    using lock = new WriteLock(scene.database)
    const waited = watchWaits(scene.pid)
    const held = lock.holdFor(holdMs)
    await delay(holdMs * 0.8)
    const waitedMs = waited.endMs()
    await scene.kill()
    await held
    await using store = await openStore({ path: scene.database })
    for (const spanMs of await scene.told.lostSpansMs(store))
      expect(spanMs).toBeLessThanOrEqual(toldMs + waitedMs)
  }
})

/** Holds SQLite's write lock, as a slow disk or another process does. */
class WriteLock implements Disposable {
  readonly #db: DatabaseSync

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { timeout: 1000 })
  }

  async holdFor(ms: number): Promise<void> {
    this.#db.exec("BEGIN IMMEDIATE")
    await delay(ms)
    this.#db.exec("COMMIT")
    await delay(40)
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}

/** Measures how long this process and the server wait for a processor, as on a busy machine: text arrives later by that. */
function watchWaits(server: number): { endMs(): number } {
  const startMs = queuedMs(server)
  let last = performance.now()
  let late = 0
  const look = () => {
    const now = performance.now()
    late += Math.max(0, now - last - 10)
    last = now
  }
  const timer = setInterval(look, 5)
  return {
    endMs() {
      clearInterval(timer)
      look()
      return late + queuedMs(server) - startMs
    },
  }
}

/** How long a process has waited for a processor; 0 on systems that do not say. */
function queuedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6
  } catch {
    return 0
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
