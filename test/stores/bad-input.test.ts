import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { StemmaError } from "../../src/protocol/index.ts"
import type { Store } from "../../src/stores/store.ts"
import { comparable } from "../support/answers.ts"
import { badCalls } from "../support/bad-calls/index.ts"
import { type Fixture, makeFixture } from "../support/bad-input-fixture.ts"
import { manualClock } from "../support/clock.ts"
import { drivers } from "../support/drivers.ts"
import { observe } from "../support/observe.ts"
import { expectHelpful, rejection } from "../support/rejection.ts"
import { type TemporaryDirectory, temporaryDirectory } from "../support/temporary-directory.ts"

describe.each(drivers)("$name", (driver) => {
  // All bad calls share one store, because none of them may change it.
  let directory: TemporaryDirectory
  let store: Store
  let fixture: Fixture
  const clock = manualClock()
  beforeAll(async () => {
    directory = await temporaryDirectory()
    store = await driver.open(directory.path, { clock })
    fixture = await makeFixture(store)
  })
  afterAll(async () => {
    await store.close()
    await directory[Symbol.asyncDispose]()
  })

  it.each(badCalls)(
    "when %s (%s): refuses the call, changes nothing and says what to do",
    async (_what, code, call) => {
      const sessionIDs = [fixture.calm, fixture.busy]
      const look = () => observe(store, { sessionIDs, blobs: [], nowMs: clock.now(), queries: ["prompt"] })
      const before = comparable(await look())
      const cursor = await store.cursor()
      expectHelpful(await rejection(call(store, fixture)), code)
      expect(comparable(await look())).toEqual(before)
      expect(await store.cursor()).toBe(cursor)
      const changes = await store.changes({ directory: "/project" }, cursor)
      expect(changes.rows).toEqual([])
    },
  )

  it("a piece with a wrong offset gets an error that contains the current length", async () => {
    await using directory = await temporaryDirectory()
    await using store = await driver.open(directory.path)
    const { busy, busyMessage, busyPart, fence } = await makeFixture(store)
    const place = { sessionID: busy, messageID: busyMessage, partID: busyPart }
    const op = { op: "piece.add" as const, ...place, field: "text" as const, offset: 9, text: "bad" }
    const error = await rejection(store.commit({ ops: [op], fences: { [busy]: fence } }))
    expect(StemmaError.is(error, "conflict") && error.details?.length).toBe(5)
  })

  it("refuses commits of a run whose lease has expired", async () => {
    await using directory = await temporaryDirectory()
    const clock = manualClock()
    await using store = await driver.open(directory.path, { clock })
    const { busy, busyMessage, fence } = await makeFixture(store)
    clock.advance(10_001)
    const seal = { op: "message.seal" as const, sessionID: busy, messageID: busyMessage }
    expectHelpful(await rejection(store.commit({ ops: [seal], fences: { [busy]: fence } })), "conflict")
    const { items } = await store.history(busy)
    expect(items.at(-1)?.sealed).toBe(false)
  })

  it("is unavailable after close", async () => {
    await using directory = await temporaryDirectory()
    const store = await driver.open(directory.path)
    const { calm } = await makeFixture(store)
    await store.close()
    for (const call of [
      store.session(calm),
      store.commit({ ops: [{ op: "session.patch", sessionID: calm, set: { title: "bad" } }] }),
      store.search({ text: "prompt" }),
      store.claim(calm),
    ]) {
      expectHelpful(await rejection(call), "unavailable")
    }
  })
})
