import fc from "fast-check"
import { describe, test } from "vitest"
import { StemmaError } from "../../src/protocol/index.ts"
import { growingField } from "../../src/session/replica/grow.ts"
import { cleanText } from "../../src/session/text/clean-text.ts"
import type { Commit, Op } from "../../src/stores/commit.ts"
import { currentHolder } from "../../src/stores/holder.ts"
import type { Scope, Store } from "../../src/stores/store.ts"
import { createHub, type Hub } from "../../src/stream/hub.ts"
import { manualClock } from "../support/clock.ts"
import { drawFrom } from "../support/draw.ts"
import { type Driver, drivers } from "../support/drivers.ts"
import { sampleIds } from "../support/ids.ts"
import { checkProperty, type Intent, intents } from "../support/random-run.ts"
import { waitMsMax } from "../support/run-scene.ts"
import { bodyOfPart, sampleToolState } from "../support/samples.ts"
import { randomFrom, repeats, testSeed } from "../support/seed.ts"
import { allSteps } from "../support/steps/index.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"
import { createWorld, fenceOf, look, passTime, type World, withTrace } from "../support/world.ts"
import { EventClient } from "./event-client.ts"

interface Scene {
  hub: Hub
  store: Store
  random: () => number
  isOver: boolean
}

/** A client with a bad connection: it disconnects after a random frame, and returns with its last cursor. */
async function follow(scene: Scene, scope: Scope, client: EventClient): Promise<void> {
  let since: string | undefined
  while (!scene.isOver) {
    const subscription = scene.hub.subscribe({ scope, since })
    const framesMax = scene.random() < 0.7 ? Math.floor(scene.random() * 12) : Number.POSITIVE_INFINITY
    try {
      let count = 0
      for await (const frame of subscription) {
        if ("event" in frame) await client.apply(frame.event, frame.cursor)
        if (frame.cursor !== undefined) since = frame.cursor
        client.log.push(`-- ${frame.cursor ?? ""}`)
        if (++count > framesMax) break
      }
      client.log.push("-- dropped")
    } catch (error) {
      if (StemmaError.is(error, "not_found")) return
      // The store is being reopened.
      if (!StemmaError.is(error, "unavailable")) throw error
    }
    for (let ticks = scene.random() * 6; ticks > 0; ticks--) await tick()
  }
}

const tick = () => new Promise((resolve) => setImmediate(resolve))

/**
 * A store that also sends the text of a commit to the hub before the commit, as a run does: sometimes less, sometimes
 * more.
 */
function speaking(scene: Scene, isLive: boolean): Store {
  return new Proxy({} as Store, {
    get(_, name) {
      if (name === "commit" && isLive) {
        return (commit: Commit) => {
          for (const op of commit.ops) if (op.op === "piece.add") speak(scene, op)
          return scene.store.commit(commit)
        }
      }
      const value = Reflect.get(scene.store, name) as unknown
      return typeof value === "function" ? value.bind(scene.store) : value
    },
  })
}

function speak({ hub, random }: Scene, op: Extract<Op, { op: "piece.add" }>): void {
  const { sessionID, messageID, partID, field } = op
  let text = cleanText(op.text)
  const kind = random()
  if (kind < 0.2) return
  if (kind < 0.4) text = text.slice(0, Math.floor(random() * text.length))
  if (kind > 0.9) text += " that is never committed"
  for (let at = 0; at < text.length; ) {
    const length = 1 + Math.floor(random() * 5)
    const overlap = random() < 0.1 ? Math.min(at, 2) : 0
    if (random() > 0.05) {
      const delta = text.slice(at - overlap, at + length)
      hub.delta({ sessionID, messageID, partID, field, offset: op.offset + at - overlap, delta })
    }
    at += length
  }
}

/** Seals all open messages, so that live text that was never committed is withdrawn. */
async function sealAll(world: World, store: Store): Promise<void> {
  for (const sessionID of world.live) {
    const { open } = await look(world, sessionID)
    if (!open) continue
    const messageID = open.message.id
    const ops: Op[] = open.parts
      .filter((part) => part.type === "tool" && growingField(part))
      .map((part) => {
        const state = sampleToolState("error", drawFrom([]), [])
        return { op: "part.put", sessionID, messageID, part: { ...bodyOfPart(part), state } as never }
      })
    await store.commit({
      ops: [...ops, { op: "message.seal", sessionID, messageID }],
      fences: await fenceOf(world, sessionID),
    })
  }
}

async function runOnce(
  driver: Driver,
  run: { list: Intent[]; seed: number; isLive: boolean },
): Promise<void> {
  await using directory = await temporaryDirectory()
  const clock = manualClock()
  const holder = currentHolder()
  const store = await driver.open(directory.path, { clock, holder })
  const scene: Scene = {
    store,
    hub: createHub({ store, clock }),
    random: randomFrom(run.seed),
    isOver: false,
  }
  const oracle = speaking(scene, run.isLive)
  const world = createWorld({
    oracle: () => oracle,
    subjects: () => [],
    clock,
    ids: sampleIds(),
    async reopen() {
      if (!driver.durable) return
      await scene.hub.close()
      await scene.store.close()
      scene.store = await driver.open(directory.path, { clock, holder })
      scene.hub = createHub({ store: scene.store, clock })
    },
  })
  const subscribers: { scope: Scope; client: EventClient; done: Promise<void> }[] = []
  let failure: unknown
  const start = (scope: Scope) => {
    const client = new EventClient(() => scene.store)
    const done = follow(scene, scope, client).catch((error) => {
      failure ??= new Error(`${error.message}\n${client.log.join("\n")}`, { cause: error })
    })
    subscribers.push({ scope, client, done })
  }
  start({ directory: "/project" })
  start({ directory: "/project" })
  await scene.hub.subscribe().ready
  try {
    for (const intent of run.list) {
      passTime(world, (intent.numbers[0] ?? 0) % 700)
      await tryStep(intent, world)
      const draw = drawFrom(intent.visit)
      if (draw.chance(10) && world.live.length > 0 && subscribers.length < 6) {
        const id = draw.one(world.live)
        start(draw.chance(50) ? { sessionID: id } : { treeID: id })
      }
      for (let ticks = draw.below(4); ticks > 0; ticks--) await tick()
      if (failure) throw failure
    }
    await sealAll(world, scene.store)
    for (const subscriber of subscribers) await settled(subscriber, { world, scene, failure: () => failure })
  } catch (error) {
    throw withTrace(error, world)
  } finally {
    scene.isOver = true
    await scene.hub.close()
    for (const { done } of subscribers) await done
    await scene.store.close()
  }
}

/** A step that has nothing to do, such as a revert to a part that is gone, does nothing. */
async function tryStep(intent: Intent, world: World): Promise<void> {
  try {
    await allSteps[intent.step]!.run(world, drawFrom(intent.numbers.slice(1)))
  } catch (error) {
    if (!StemmaError.is(error, "not_found")) throw error
  }
}

async function settled(
  subscriber: { scope: Scope; client: EventClient },
  { world, scene, failure }: { world: World; scene: Scene; failure: () => unknown },
): Promise<void> {
  const end = performance.now() + waitMsMax
  for (;;) {
    if (failure()) throw failure()
    const found = await differences(subscriber, world, scene.store)
    if (found === undefined) return
    if (performance.now() > end) {
      throw new Error(
        `${JSON.stringify(subscriber.scope)} ${found}\nafter\n${subscriber.client.log.join("\n")}`,
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A client that subscribed late knows only the sessions that changed since then. */
async function differences(
  { scope, client }: { scope: Scope; client: EventClient },
  world: World,
  store: Store,
): Promise<string | undefined> {
  for (const id of world.live) {
    const { directory } = await store.session(id)
    if ("directory" in scope ? scope.directory !== directory : !client.sessions.has(id)) continue
    const found = await client.difference(id)
    if (found) return found
  }
  return [...client.sessions.keys()].find((id) => !world.live.includes(id))
}

describe("clients that subscribe, disconnect at any frame and return with the last cursor have the state of the store", () => {
  const cases = drivers
    .filter(({ name }) => name !== "jsonl")
    .flatMap((driver) => [
      { driver, isLive: false, name: `${driver.name}, text by pieces alone` },
      { driver, isLive: true, name: `${driver.name}, with live text` },
    ])
  test.each(cases)("$name", async ({ driver, isLive }) => {
    const property = fc.asyncProperty(intents(50), fc.nat(), (list, seed) =>
      runOnce(driver, { list, seed, isLive }),
    )
    await checkProperty(property, {
      ...testSeed(`hub on ${driver.name}`),
      runs: repeats({ test: 12, soak: 300 }),
      stepsMax: 50,
    })
  })
})
