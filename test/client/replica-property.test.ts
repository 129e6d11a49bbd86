import fc from "fast-check"
import { afterAll, expect, it } from "vitest"
import { createClient, type Replica } from "../../src/client/index.ts"
import { createServer } from "../../src/server/index.ts"
import { cuttingFetch } from "../support/client/cutting-fetch.ts"
import { EventReader } from "../support/client/event-reader.ts"
import { expectSame } from "../support/client/session-state.ts"
import { Story } from "../support/client/story.ts"
import { makeStory, openStory } from "../support/client/story-scene.ts"
import { Witness } from "../support/client/witness.ts"
import { drawFrom } from "../support/draw.ts"
import { checkProperty } from "../support/random-run.ts"
import { randomFrom, repeats, testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const seeds = testSeed("client replica")
const directory = await temporaryDirectory()
await makeStory(directory.path)
const stemma = await openStory(directory.path)
const server = createServer(stemma, { interactive: true, drainMs: 100 })
afterAll(async () => {
  await server.close()
  // A failed test may leave a run in the middle; closing does not wait for it.
  await Promise.race([stemma.close(), new Promise((resolve) => setTimeout(resolve, 1000).unref())])
  await stemma.close()
  await directory[Symbol.asyncDispose]()
})

const reconnect = { firstMs: 1, maxMs: 8 }
const calm = createClient({ fetch: server.app.fetch, reconnect })
let cuts = 0
let looks = 0

const step = fc.array(fc.nat(9999), { minLength: 8, maxLength: 8 })
const schedule = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 10 }),
  line: fc.nat(),
  /** The time between a step and the next step. */
  pausesMs: fc.array(fc.nat(12), { minLength: 10, maxLength: 10 }),
})

it("a client that is disconnected often ends with the same replica as an uninterrupted client and as the store, and its events agree", async () => {
  const property = fc.asyncProperty(schedule, async ({ steps, line, pausesMs }) => {
    const random = randomFrom(line)
    const cutter = cuttingFetch(server.app.fetch, { random, bytesMax: 6000 })
    const rough = createClient({ fetch: cutter.fetch, reconnect })
    const { id } = await calm.sessions.create()
    const story = new Story(calm, id)
    using first = calm.session(id).replica()
    using second = rough.session(id).replica()
    const events = rough.session(id).events()
    using listener = new EventReader(events)
    using others = new DisposableStack()
    const replicas: Record<string, Replica> = { first, second }
    const witnesses = Object.entries(replicas).map(([name, replica]) => new Witness(name, replica))
    try {
      await Promise.all([first.ready, events.ready])
      for (const [index, numbers] of steps.entries()) {
        await story.step(drawFrom(numbers))
        await new Promise((resolve) => setTimeout(resolve, pausesMs[index]))
        // These replicas start late with few messages, so they must request the messages that a revert shows again.
        if (index === 2) replicas.third = others.use(rough.session(id).replica({ last: 2 }))
        if (index === 4) replicas.fourth = others.use(calm.session(id).replica({ last: 1 }))
      }
      await story.end()
      cutter.stop()
      using late = calm.session(id).replica()
      await expectSame(stemma.store, id, { ...replicas, late })
      for (const fork of story.forks) {
        using replica = calm.session(fork).replica()
        await new Story(calm, fork).end()
        await expectSame(stemma.store, fork, { fork: replica })
      }
      for (const witness of witnesses) await witness.check(stemma.store, id)
      await listener.check(stemma.store, id)
    } catch (error) {
      throw new Error(`${story.trace.join(", ")}: ${(error as Error).message}`, { cause: error })
    }
    cuts += cutter.cuts
    looks += witnesses.reduce((sum, witness) => sum + witness.looks, 0)
  })
  await checkProperty(property, { ...seeds, runs: repeats({ test: 60, soak: 2000 }), stepsMax: 10 })
  process.stdout.write(`client replica: ${cuts} cuts, ${looks} looks\n`)
  expect(cuts).toBeGreaterThan(50)
})
