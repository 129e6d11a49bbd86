import { expect, test } from "vitest"
import { createMemoryStore } from "../../src/stores/memory.ts"
import { createHub } from "../../src/stream/hub.ts"
import { EventIterator } from "../../src/stream/subscriber/event-iterator.ts"

const sessionID = "ses_01JZ0000000000000000000000"

async function openScene() {
  const store = await createMemoryStore()
  const hub = createHub({ store })
  const subscriptions: { isClosed: boolean }[] = []
  const events = new EventIterator(() => {
    const subscription = hub.subscribe()
    const seen = { isClosed: false }
    subscriptions.push(seen)
    const close = subscription.close.bind(subscription)
    subscription.close = () => {
      seen.isClosed = true
      close()
    }
    return subscription
  })
  return { hub, events, subscriptions, [Symbol.asyncDispose]: () => hub.close() }
}

test("subscribes on the first call of next, and only once", async () => {
  await using scene = await openScene()
  expect(scene.subscriptions).toHaveLength(0)
  const both = [scene.events.next(), scene.events.next()]
  expect(scene.subscriptions).toHaveLength(1)
  await scene.hub.close()
  expect(await Promise.all(both)).toEqual([
    { done: true, value: undefined },
    { done: true, value: undefined },
  ])
})

test("two concurrent calls of next get one event each", async () => {
  await using scene = await openScene()
  const both = [scene.events.next(), scene.events.next()]
  // The status repeats until the subscription is ready.
  const repeating = setInterval(() => scene.hub.setStatus(sessionID, { type: "idle" }), 5)
  const types = (await Promise.all(both)).map(({ value }) => value?.type)
  clearInterval(repeating)
  expect(types).toEqual(["session.status", "session.idle"])
})

test("leaving the loop closes the subscription", async () => {
  await using scene = await openScene()
  const repeating = setInterval(() => scene.hub.setStatus(sessionID, { type: "busy" }), 5)
  for await (const event of scene.events) {
    expect(event.type).toBe("session.status")
    break
  }
  clearInterval(repeating)
  expect(scene.subscriptions).toEqual([{ isClosed: true }])
  expect(await scene.events.next()).toEqual({ done: true, value: undefined })
})

test("throws the error that ends a subscription, and is done after that", async () => {
  await using scene = await openScene()
  await scene.hub.close()
  await expect(scene.events.next()).rejects.toThrow(/closed/)
  expect(await scene.events.next()).toEqual({ done: true, value: undefined })
})
