import { join } from "node:path"
import { expect, test } from "vitest"
import { openStore } from "../../src/index.ts"
import { currentHolder } from "../../src/stores/holder.ts"
import { runScene } from "../support/run-scene.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const hourMs = 3_600_000

test("after the clock was set back by an hour, a session whose holder died in another container is answered", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "stemma.db")
  // No process can tell that a process of another PID namespace is dead.
  const own = currentHolder()
  const holder = { ...own, bootID: `${own.bootID.split(" ")[0]} pid:[1]`, start: "1" }
  await using dead = await openStore({ path, holder })
  // The monotonic clock runs fast, so that the test does not wait for a whole lease.
  const clock = { now: () => Date.now() - hourMs, monotonic: () => performance.now() * 20 }
  await using store = await openStore({ path, clock })
  await using scene = await runScene({ store, clock, script: () => ({ text: "Answered." }) })
  const session = await scene.stemma.sessions.create()
  await dead.claim(session.id)
  const startedMs = performance.now()
  expect((await session.prompt("Go")).text).toBe("Answered.")
  expect(performance.now() - startedMs).toBeGreaterThan(400)
}, 30_000)
