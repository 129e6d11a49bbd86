import { join } from "node:path"
import { expect, test } from "vitest"
import { WorkerClient } from "../../src/stores/sqlite/connection/worker-client.ts"
import { openSqliteStore } from "../../src/stores/sqlite/index.ts"
import { until } from "../support/run-scene.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

async function clientIn(directory: string, restMs: number): Promise<WorkerClient> {
  const path = join(directory, "stemma.db")
  await (await openSqliteStore({ path })).close()
  return new WorkerClient({ path, durability: "normal", readOnly: false }, { restMs })
}

test("the thread of a store ends when it has no more requests, and the next request starts it again", async () => {
  await using directory = await temporaryDirectory()
  const client = await clientIn(directory.path, 20)
  for (let i = 0; i < 3; i++) {
    expect(await client.ask("check")).toEqual([])
    await until("the thread has ended", () => !client.started)
  }
  await client.close()
  await expect(client.ask("check")).rejects.toMatchObject({ code: "unavailable" })
})

test("a request that arrives while the thread ends is answered by a new thread", async () => {
  await using directory = await temporaryDirectory()
  const client = await clientIn(directory.path, 1)
  for (let i = 0; i < 20; i++) {
    const asked = Array.from({ length: 3 }, () => client.ask("check"))
    expect(await Promise.all(asked)).toEqual([[], [], []])
    await new Promise((resolve) => setTimeout(resolve, i % 4))
  }
  await client.close()
})
