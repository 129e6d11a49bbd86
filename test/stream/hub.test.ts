import { execFile } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { type PartBody, StemmaError } from "../../src/protocol/index.ts"
import type { Store } from "../../src/stores/store.ts"
import { createHub, type Hub } from "../../src/stream/hub.ts"
import { manualClock } from "../support/clock.ts"
import { drivers } from "../support/drivers.ts"
import { type Ids, sampleIds } from "../support/ids.ts"
import { rejection } from "../support/rejection.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"
import { createSession, nowMs, startWriting, subscribe, tick, until } from "./scene.ts"

async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of iterable) items.push(item)
  return items
}

interface Parts {
  store: Store
  hub: Hub
  ids: Ids
  directory: string
}

describe.each(drivers.filter(({ name }) => name !== "jsonl"))("the hub on $name", (driver) => {
  async function withHub(body: (parts: Parts) => Promise<void>): Promise<void> {
    await using directory = await temporaryDirectory()
    const clock = manualClock(nowMs - 1)
    await using store = await driver.open(directory.path, { clock })
    await using hub = createHub({ store, clock })
    await body({ store, hub, ids: sampleIds(), directory: directory.path })
  }

  const text = (id: string, value = ""): PartBody => ({ id, type: "text", text: value })

  test("delivers a whole answer in order, and no text twice", () =>
    withHub(async (parts) => {
      const received = await subscribe(parts.hub)
      const writing = await startWriting(parts)
      parts.hub.setStatus(writing.sessionID, { type: "busy" })
      await writing.put(text(writing.partID))
      await until(() => received.lines().includes('part.updated ""'), received.lines)
      writing.say(0, "Hello")
      await tick()
      writing.say(5, " wor")
      await tick()
      await writing.piece(0, "Hello wor")
      writing.say(9, "ld")
      await tick()
      await writing.piece(9, "ld!")
      await until(() => received.lines().includes('part.delta 11 "!"'), received.lines)
      await writing.seal()
      parts.hub.setStatus(writing.sessionID, { type: "idle" })
      await until(() => received.lines().includes("session.idle"), received.lines)
      const lines = received.lines().filter((line) => !line.startsWith("session.updated"))
      expect(lines.slice(0, 3)).toEqual(["session.created", "updated user", 'part.updated "Say something."'])
      expect(lines.filter((line) => line.startsWith("part.delta"))).toEqual([
        'part.delta 0 "Hello"',
        'part.delta 5 " wor"',
        'part.delta 9 "ld"',
        'part.delta 11 "!"',
      ])
      expect(lines.slice(-3)).toEqual(["updated assistant stop", "session.status idle", "session.idle"])
    }))

  test("delivers the live text of one tick when the tick ends, in order, before later events", () =>
    withHub(async (parts) => {
      const received = await subscribe(parts.hub)
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      await until(() => received.lines().includes('part.updated ""'), received.lines)
      const first = received.lines().length
      for (const [offset, letter] of [..."Hello"].entries()) writing.say(offset, letter)
      expect(received.lines().slice(first)).toEqual([])
      await tick()
      expect(received.lines().slice(first)).toEqual([
        'part.delta 0 "H"',
        'part.delta 1 "e"',
        'part.delta 2 "l"',
        'part.delta 3 "l"',
        'part.delta 4 "o"',
      ])
      writing.say(5, ", ")
      writing.say(7, "you")
      parts.hub.setStatus(writing.sessionID, { type: "busy" })
      const late = await subscribe(parts.hub)
      writing.say(10, "!")
      for (const one of [received, late])
        await until(() => one.textOf(writing.partID).endsWith("!"), one.lines)
      expect(received.textOf(writing.partID)).toBe("Hello, you!")
      expect(late.textOf(writing.partID)).toBe("Hello, you!")
      await writing.piece(0, "Hello, you!")
      writing.say(11, " Bye")
      await writing.piece(11, " Bye")
      await writing.seal()
      await until(() => received.lines().includes("updated assistant stop"), received.lines)
      expect(received.textOf(writing.partID)).toBe("Hello, you! Bye")
      await until(() => late.textOf(writing.partID) === "Hello, you! Bye", late.lines)
    }))

  test("delivers to a subscriber that arrives between two commits all that follows, without a delay", () =>
    withHub(async (parts) => {
      const { store, hub, ids } = parts
      const sessionID = await createSession(store, ids)
      // Another subscriber makes the hub follow the store, while this session is still unknown to it.
      await subscribe(hub, { scope: { sessionID: await createSession(store, ids) } })
      const writing = await startWriting(parts, { sessionID })
      await writing.put(text(writing.partID))
      await sleep(50)
      const since = await store.cursor()
      await writing.piece(0, "one ")
      const late = await subscribe(hub, { scope: { sessionID }, since })
      await writing.piece(4, "two ")
      await until(() => late.textOf(writing.partID) === "one two ", late.lines)
    }))

  test("delivers text that waits for the end of the tick before a subscription ends", () =>
    withHub(async (parts) => {
      const received = await subscribe(parts.hub)
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      await until(() => received.lines().includes('part.updated ""'), received.lines)
      writing.say(0, "the last words")
      await parts.hub.close()
      await received.done
      expect(received.lines().at(-1)).toBe('part.delta 0 "the last words"')
    }))

  test("holds live text back until its part was delivered, and until a gap is filled", () =>
    withHub(async (parts) => {
      const received = await subscribe(parts.hub)
      const writing = await startWriting(parts)
      writing.say(0, "early")
      await writing.put(text(writing.partID))
      await until(() => received.lines().includes('part.delta 0 "early"'), received.lines)
      writing.say(8, "later")
      await sleep(20)
      expect(received.lines()).not.toContain('part.delta 8 "later"')
      await writing.piece(0, "early, b")
      await until(() => received.lines().includes('part.delta 8 "later"'), received.lines)
      expect(received.lines()).toContain('part.delta 5 ", b"')
    }))

  test("delivers a part that is put again with all its text, including live text", () =>
    withHub(async (parts) => {
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      const received = await subscribe(parts.hub)
      await writing.piece(0, "Hello")
      await until(() => received.lines().includes('part.updated "Hello"'), received.lines)
      writing.say(5, " world")
      const again = { ...text(writing.partID), synthetic: true } as PartBody
      await writing.put(again, "keep")
      await until(() => received.lines().includes('part.updated "Hello world"'), received.lines)
      await writing.piece(5, " world")
      writing.say(11, "!")
      await until(() => received.lines().includes('part.delta 11 "!"'), received.lines)
      expect(received.lines().filter((line) => line.startsWith("part."))).toEqual([
        'part.updated "Hello"',
        'part.delta 5 " world"',
        'part.updated "Hello world"',
        'part.delta 11 "!"',
      ])
    }))

  test("withdraws text that was never committed when the attempt fails or the message is sealed", () =>
    withHub(async (parts) => {
      const received = await subscribe(parts.hub)
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      await until(() => received.lines().includes('part.updated ""'), received.lines)
      writing.say(0, "first try")
      const { sessionID, messageID } = writing
      const retry = parts.ids.next("part")
      await writing.commit(
        { op: "part.truncate", sessionID, messageID, keep: 0 },
        { op: "part.put", sessionID, messageID, part: text(retry, "second") },
      )
      await until(() => received.lines().includes('part.updated "second"'), received.lines)
      expect(received.lines()).toContain("part.removed")
      writing.say(9, " is over")
      parts.hub.delta({ sessionID, messageID, partID: retry, field: "text", offset: 6, delta: " lost" })
      await writing.seal()
      await until(() => received.lines().includes("updated assistant stop"), received.lines)
      expect(
        received
          .lines()
          .slice(-4)
          .filter((line) => !line.startsWith("session")),
      ).toEqual(['part.delta 6 " lost"', 'part.updated "second"', "updated assistant stop"])
    }))

  test("delivers the part first to a subscriber that arrives in the middle of it, then the new text", () =>
    withHub(async (parts) => {
      const first = await subscribe(parts.hub)
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      await until(() => first.lines().includes('part.updated ""'), first.lines)
      writing.say(0, "Hello")
      const second = await subscribe(parts.hub, { scope: { sessionID: writing.sessionID } })
      writing.say(5, " world")
      writing.say(11, "!")
      await until(() => second.events().length === 2, second.lines)
      expect(second.lines()).toEqual(['part.updated "Hello world"', 'part.delta 11 "!"'])
    }))

  test("delivers only events of the sessions in scope", () =>
    withHub(async ({ store, hub, ids }) => {
      const root = await createSession(store, ids)
      const child = await createSession(store, ids, { parentID: root, directory: "/other" })
      const single = await subscribe(hub, { scope: { sessionID: root } })
      const tree = await subscribe(hub, { scope: { treeID: root } })
      const directory = await subscribe(hub, { scope: { directory: "/other" } })
      const all = await subscribe(hub)
      const rename = (sessionID: string, title: string) =>
        store.commit({ ops: [{ op: "session.patch", sessionID, set: { title } }] })
      await rename(root, "root")
      await rename(child, "child")
      const grandchild = await createSession(store, ids, { parentID: child })
      await rename(await createSession(store, ids), "alone")
      hub.setStatus(child, { type: "busy" })
      hub.setStatus(grandchild, { type: "busy" })
      await until(() => all.lines().filter((line) => line === "session.status busy").length === 2, all.lines)
      const ids_ = (received: typeof all) =>
        new Set(
          received.events().map(({ properties }) => ("info" in properties ? properties.info.id : properties)),
        )
      const status = (sessionID: string) => ({ sessionID, status: { type: "busy" } })
      expect(ids_(single)).toEqual(new Set([root]))
      expect(ids_(tree)).toEqual(new Set([root, child, grandchild, status(child), status(grandchild)]))
      expect(ids_(directory)).toEqual(new Set([child, status(child)]))
      expect(hub.statuses().size).toBe(2)
      hub.setStatus(child, { type: "idle" })
      expect(hub.status(child)).toEqual({ type: "idle" })
      expect([...hub.statuses().keys()]).toEqual([grandchild])
    }))

  test("does not deliver earlier commits", () =>
    withHub(async (parts) => {
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID, "old"))
      const received = await subscribe(parts.hub)
      await writing.seal()
      await until(() => received.lines().includes("updated assistant stop"), received.lines)
      expect(received.lines()).not.toContain("updated user")
      expect(received.lines()).not.toContain("session.created")
    }))

  test("gives a slow subscriber a bounded buffer, then the cursor to continue from; other subscribers get everything", () =>
    withHub(async (parts) => {
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      const slow = parts.hub.subscribe({ bufferMax: 100 })
      const fast = await subscribe(parts.hub)
      await slow.ready
      await writing.piece(0, "x")
      await until(() => fast.events().length > 0, fast.lines)
      for (let index = 0; index < 500; index++) {
        writing.say(1 + index, "y")
        await tick()
      }
      await until(() => fast.events().length > 500, fast.lines)
      const frames = (await collect(slow.batches())).flat()
      expect(frames).toEqual([{ lagged: true, cursor: expect.any(String) }])
      await writing.piece(1, "y".repeat(500))
      const since = (frames[0] as { cursor: string }).cursor
      const again = await subscribe(parts.hub, { scope: { sessionID: writing.sessionID }, since })
      await until(() => again.frames.some((frame) => "synced" in frame), again.lines)
      expect(again.lines().at(-1)).toBe(`part.updated "x${"y".repeat(500)}"`)
    }))

  test("ends one subscription by its signal and all by close, and refuses invalid options", () =>
    withHub(async ({ hub, store, ids }) => {
      const abort = new AbortController()
      const one = await subscribe(hub, { signal: abort.signal })
      const other = await subscribe(hub)
      abort.abort()
      await one.done
      await expect(collect(hub.subscribe({ signal: abort.signal }))).resolves.toEqual([])
      const scope = { directory: "/project" }
      const foreign = hub.subscribe({ scope, since: "ffff.1" })
      expect(StemmaError.is(await rejection(collect(foreign)), "invalid")).toBe(true)
      expect(StemmaError.is(await rejection(foreign.ready), "invalid")).toBe(true)
      for (const options of [{ since: await store.cursor() }, { bufferMax: 0 }]) {
        const error = await rejection(collect(hub.subscribe(options)))
        expect(StemmaError.is(error, "invalid")).toBe(true)
      }
      const unknown = { scope: { sessionID: ids.next("session") }, since: await store.cursor() }
      expect(StemmaError.is(await rejection(collect(hub.subscribe(unknown))), "not_found")).toBe(true)
      await hub.close()
      await other.done
      expect(StemmaError.is(await rejection(collect(hub.subscribe())), "unavailable")).toBe(true)
    }))

  test("ends with the store's error only the subscriptions of the failing session", () =>
    withHub(async ({ store, ids }) => {
      const bad = await createSession(store, ids)
      const good = await createSession(store, ids)
      const failing = new Proxy(store, {
        get(target, name) {
          if (name === "changes") {
            return async (...args: Parameters<Store["changes"]>) => {
              if ("sessionID" in args[0] && args[0].sessionID === bad) throw new Error("damaged")
              return await target.changes(...args)
            }
          }
          const value = Reflect.get(target, name) as unknown
          return typeof value === "function" ? value.bind(target) : value
        },
      })
      await using hub = createHub({ store: failing })
      const [one, other] = [bad, good].map((sessionID) => subscribe(hub, { scope: { sessionID } }))
      const [receivedBad, receivedGood] = [await one!, await other!]
      const rename = (sessionID: string) =>
        store.commit({ ops: [{ op: "session.patch", sessionID, set: { title: "beta" } }] })
      await Promise.all([rename(bad), rename(good)])
      expect(StemmaError.is(await rejection(receivedBad.done), "internal")).toBe(true)
      await until(() => receivedGood.lines().includes("session.updated"), receivedGood.lines)
    }))

  test("a note on a prompt updates its message, and a committed revert removes the hidden messages", () =>
    withHub(async (parts) => {
      const { store, hub, ids } = parts
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID, "answer"))
      await writing.seal()
      const { sessionID } = writing
      const { items } = await store.history(sessionID)
      const received = await subscribe(hub)
      const messageID = items[0]!.message.id
      await writing.commit({
        op: "note.put",
        sessionID,
        messageID,
        key: "summary",
        value: { title: "a summary", diffs: [] },
      })
      await until(() => received.lines().includes("updated user"), received.lines)
      const segment = ids.next("segment")
      await writing.commit({ op: "history.move", sessionID, segment, messageID: writing.messageID })
      await until(() => received.lines().includes("removed"), received.lines)
      const removed = received.events().find(({ type }) => type === "message.removed")
      expect(removed?.properties).toEqual({ sessionID, messageID: writing.messageID })
    }))
})

describe("the cost of the hub", () => {
  test("rows are read once for any number of subscribers, and only for sessions with a subscriber", async () => {
    await using memory = await drivers[0]!.open("")
    const reads: string[] = []
    const store = new Proxy(memory, {
      get(target, name) {
        if (name === "changes") {
          return (...args: Parameters<Store["changes"]>) => {
            reads.push("sessionID" in args[0] ? args[0].sessionID : "many")
            return target.changes(...args)
          }
        }
        const value = Reflect.get(target, name) as unknown
        return typeof value === "function" ? value.bind(target) : value
      },
    })
    const ids = sampleIds()
    const [one, two, three] = [
      await createSession(store, ids),
      await createSession(store, ids),
      await createSession(store, ids),
    ]
    await using hub = createHub({ store })
    const received = await Promise.all(
      Array.from({ length: 20 }, () => subscribe(hub, { scope: { sessionID: one } })),
    )
    await subscribe(hub, { scope: { sessionID: two } })
    for (const sessionID of [one, three]) {
      await store.commit({ ops: [{ op: "session.patch", sessionID, set: { title: "beta" } }] })
    }
    await until(() => received.every(({ lines }) => lines().includes("session.updated")))
    expect(reads).toEqual([one])
  })

  test("a process ends when the hub and the store are closed, without an unhandled rejection", async () => {
    const script = `
      import { createMemoryStore } from "./src/stores/memory.ts"
      import { createHub } from "./src/stream/hub.ts"
      const store = createMemoryStore()
      const hub = createHub({ store })
      const forgotten = hub.subscribe()
      hub.subscribe({ scope: { sessionID: "ses_none" }, since: "bad" })
      await forgotten.ready
      hub.setStatus("ses_none", { type: "busy" })
      await hub.close()
      await store.close()
      createHub({ store }).subscribe()
      console.log("closed")`
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", script],
      { timeout: 20_000 },
    )
    expect({ stdout, stderr }).toEqual({ stdout: "closed\n", stderr: "" })
  })
})

describe("several stores on one file", () => {
  test("commits of another store are delivered", async () => {
    await using directory = await temporaryDirectory()
    const driver = drivers.find(({ name }) => name === "sqlite")!
    await using store = await driver.open(directory.path)
    await using other = await driver.open(directory.path)
    await using hub = createHub({ store })
    const received = await subscribe(hub)
    const writing = await startWriting({ store: other })
    await writing.put({ id: writing.partID, type: "text", text: "" })
    for (let index = 0; index < 5; index++) {
      await writing.piece(index * 4, "abcd")
      await sleep(10)
    }
    await writing.seal()
    await until(() => received.lines().includes("updated assistant stop"), received.lines)
    let text = ""
    for (const event of received.events()) {
      if (event.type === "message.part.updated" && event.properties.part.id === writing.partID) {
        text = (event.properties.part as { text: string }).text
      }
      if (event.type === "message.part.delta") {
        expect(event.properties.offset).toBe(text.length)
        text += event.properties.delta
      }
    }
    expect(text).toBe("abcd".repeat(5))
  })
})
