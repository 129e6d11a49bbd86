import { spawn } from "node:child_process"
import { once } from "node:events"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { randomFrom, repeats, testSeed } from "../support/seed.ts"
import { type SnapshotScene, snapshotScene } from "./snapshot-scene.ts"

/** The snapshot of a new git directory without earlier snapshots. */
async function newSnapshot(scene: SnapshotScene): Promise<string | undefined> {
  const gitDirectory = join(scene.base, "new")
  await rm(gitDirectory, { recursive: true, force: true })
  return scene.open({ gitDirectory }).take()
}

async function changeSomething(scene: SnapshotScene, random: () => number): Promise<void> {
  const name = ["a", "b", "c/d", "c/e", "f/g/h"][Math.floor(random() * 5)]!
  if (random() < 0.3) await rm(scene.path(name), { force: true })
  else await scene.put({ [name]: String(Math.floor(random() * 3)) })
}

describe("take", () => {
  test("is the current state after takes that were aborted at any moment", async () => {
    const random = randomFrom(testSeed("aborted takes").seed)
    await using scene = await snapshotScene()
    await scene.take()
    for (let round = 0; round < repeats({ test: 10, soak: 250 }); round++) {
      await changeSomething(scene, random)
      await changeSomething(scene, random)
      const aborted = scene.snapshots.take(AbortSignal.timeout(Math.floor(random() * 15)))
      await aborted.catch(() => {})
      if (random() < 0.5) await changeSomething(scene, random)
      expect(await scene.take()).toBe(await newSnapshot(scene))
    }
  })

  test("is the current state after processes that were killed at any moment", async () => {
    const random = randomFrom(testSeed("killed takes").seed)
    await using scene = await snapshotScene()
    const code = `
      const { openSnapshots } = await import(${JSON.stringify(new URL("../../src/workspace/snapshot/snapshots.ts", import.meta.url).href)})
      const { writeFile } = await import("node:fs/promises")
      const [root, gitDirectory] = process.argv.slice(1)
      const snapshots = openSnapshots({ root, gitDirectory })
      await snapshots.take()
      console.log("ready")
      for (let i = 0; ; i++) {
        await writeFile(root + "/n", String(i))
        await snapshots.take()
      }`
    for (let round = 0; round < repeats({ test: 3, soak: 60 }); round++) {
      const args = ["--input-type=module", "-e", code, scene.root, scene.gitDirectory]
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
      await once(child.stdout, "data")
      await sleep(random() * 60)
      child.kill("SIGKILL")
      await once(child, "close")
      expect(await scene.open().take()).toBe(await newSnapshot(scene))
    }
  })
})
