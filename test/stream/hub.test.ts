import { execFile } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { type PartBody, StemmaError } from "../../src/protocol/index.ts"
import type { Store } from "../../src/stores/store.ts"
import { createHub, type Hub } from "../../src/stream/index.ts"
import { manualClock } from "../support/clock.ts"
import { drivers } from "../support/drivers.ts"
import { type Ids, sampleIds } from "../support/ids.ts"
import { rejection } from "../support/rejection.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"
import { createSession, hear, nowMs, startWriting, turn, until } from "./scene.ts"

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

  test("tells a whole answer in order, and no text twice", () =>
    withHub(async (parts) => {
      const heard = await hear(parts.hub)
      const writing = await startWriting(parts)
      parts.hub.setStatus(writing.sessionID, { type: "busy" })
      await writing.put(text(writing.partID))
      await until(() => heard.lines().includes('part.updated ""'), heard.lines)
      writing.say(0, "Hello")
      await turn()
      writing.say(5, " wor")
      await turn()
      await writing.piece(0, "Hello wor")
      writing.say(9, "ld")
      await turn()
      await writing.piece(9, "ld!")
      await until(() => heard.lines().includes('part.delta 11 "!"'), heard.lines)
      await writing.seal()
      parts.hub.setStatus(writing.sessionID, { type: "idle" })
      await until(() => heard.lines().includes("session.idle"), heard.lines)
      const lines = heard.lines().filter((line) => !line.startsWith("session.updated"))
      expect(lines.slice(0, 3)).toEqual(["session.created", "updated user", 'part.updated "Say something."'])
      expect(lines.filter((line) => line.startsWith("part.delta"))).toEqual([
        'part.delta 0 "Hello"',
        'part.delta 5 " wor"',
        'part.delta 9 "ld"',
        'part.delta 11 "!"',
      ])
      expect(lines.slice(-3)).toEqual(["updated assistant stop", "session.status idle", "session.idle"])
    }))

  test("gives live text when the event loop tick ends, in order, before whatever follows it", () =>
    withHub(async (parts) => {
      const heard = await hear(parts.hub)
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      await until(() => heard.lines().includes('part.updated ""'), heard.lines)
      const first = heard.lines().length
      for (const [offset, letter] of [..."Hello"].entries()) writing.say(offset, letter)
      expect(heard.lines().slice(first)).toEqual([])
      await turn()
      expect(heard.lines().slice(first)).toEqual([
        'part.delta 0 "H"',
        'part.delta 1 "e"',
        'part.delta 2 "l"',
        'part.delta 3 "l"',
        'part.delta 4 "o"',
      ])
      writing.say(5, ", ")
      writing.say(7, "you")
      parts.hub.setStatus(writing.sessionID, { type: "busy" })
      const late = await hear(parts.hub)
      writing.say(10, "!")
      for (const one of [heard, late]) await until(() => one.textOf(writing.partID).endsWith("!"), one.lines)
      expect(heard.textOf(writing.partID)).toBe("Hello, you!")
      expect(late.textOf(writing.partID)).toBe("Hello, you!")
      await writing.piece(0, "Hello, you!")
      writing.say(11, " Bye")
      await writing.piece(11, " Bye")
      await writing.seal()
      await until(() => heard.lines().includes("updated assistant stop"), heard.lines)
      expect(heard.textOf(writing.partID)).toBe("Hello, you! Bye")
      await until(() => late.textOf(writing.partID) === "Hello, you! Bye", late.lines)
    }))

  test("tells one who comes between two commits of one round all that follows, and waits for nothing", () =>
    withHub(async (parts) => {
      const { store, hub, ids } = parts
      const sessionID = await createSession(store, ids)
      // Somebody listens elsewhere, so that the store is followed and this session is not known.
      await hear(hub, { scope: { sessionID: await createSession(store, ids) } })
      const writing = await startWriting(parts, { sessionID })
      await writing.put(text(writing.partID))
      await sleep(50)
      const since = await store.cursor()
      await writing.piece(0, "one ")
      const late = await hear(hub, { scope: { sessionID }, since })
      await writing.piece(4, "two ")
      await until(() => late.textOf(writing.partID) === "one two ", late.lines)
    }))

  test("gives text that waits for the end of the turn to who listens until the end", () =>
    withHub(async (parts) => {
      const heard = await hear(parts.hub)
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      await until(() => heard.lines().includes('part.updated ""'), heard.lines)
      writing.say(0, "the last words")
      await parts.hub.close()
      await heard.done
      expect(heard.lines().at(-1)).toBe('part.delta 0 "the last words"')
    }))

  test("holds live text back until its part was given, and until a gap is closed", () =>
    withHub(async (parts) => {
      const heard = await hear(parts.hub)
      const writing = await startWriting(parts)
      writing.say(0, "early")
      await writing.put(text(writing.partID))
      await until(() => heard.lines().includes('part.delta 0 "early"'), heard.lines)
      writing.say(8, "later")
      await sleep(20)
      expect(heard.lines()).not.toContain('part.delta 8 "later"')
      await writing.piece(0, "early, b")
      await until(() => heard.lines().includes('part.delta 8 "later"'), heard.lines)
      expect(heard.lines()).toContain('part.delta 5 ", b"')
    }))

  test("gives a part that is put again with all its text, live text included", () =>
    withHub(async (parts) => {
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      const heard = await hear(parts.hub)
      await writing.piece(0, "Hello")
      await until(() => heard.lines().includes('part.updated "Hello"'), heard.lines)
      writing.say(5, " world")
      const again = { ...text(writing.partID), synthetic: true } as PartBody
      await writing.put(again, "keep")
      await until(() => heard.lines().includes('part.updated "Hello world"'), heard.lines)
      await writing.piece(5, " world")
      writing.say(11, "!")
      await until(() => heard.lines().includes('part.delta 11 "!"'), heard.lines)
      expect(heard.lines().filter((line) => line.startsWith("part."))).toEqual([
        'part.updated "Hello"',
        'part.delta 5 " world"',
        'part.updated "Hello world"',
        'part.delta 11 "!"',
      ])
    }))

  test("takes back what was said and never committed when the try fails or the message is sealed", () =>
    withHub(async (parts) => {
      const heard = await hear(parts.hub)
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      await until(() => heard.lines().includes('part.updated ""'), heard.lines)
      writing.say(0, "first try")
      const { sessionID, messageID } = writing
      const retry = parts.ids.next("part")
      await writing.commit(
        { op: "part.truncate", sessionID, messageID, keep: 0 },
        { op: "part.put", sessionID, messageID, part: text(retry, "second") },
      )
      await until(() => heard.lines().includes('part.updated "second"'), heard.lines)
      expect(heard.lines()).toContain("part.removed")
      writing.say(9, " is over")
      parts.hub.delta({ sessionID, messageID, partID: retry, field: "text", offset: 6, delta: " lost" })
      await writing.seal()
      await until(() => heard.lines().includes("updated assistant stop"), heard.lines)
      expect(
        heard
          .lines()
          .slice(-4)
          .filter((line) => !line.startsWith("session")),
      ).toEqual(['part.delta 6 " lost"', 'part.updated "second"', "updated assistant stop"])
    }))

  test("gives one who comes in the middle the part first, then what is new", () =>
    withHub(async (parts) => {
      const first = await hear(parts.hub)
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      await until(() => first.lines().includes('part.updated ""'), first.lines)
      writing.say(0, "Hello")
      const second = await hear(parts.hub, { scope: { sessionID: writing.sessionID } })
      writing.say(5, " world")
      writing.say(11, "!")
      await until(() => second.events().length === 2, second.lines)
      expect(second.lines()).toEqual(['part.updated "Hello world"', 'part.delta 11 "!"'])
    }))

  test("tells only the sessions in scope", () =>
    withHub(async ({ store, hub, ids }) => {
      const root = await createSession(store, ids)
      const child = await createSession(store, ids, { parentID: root, directory: "/other" })
      const single = await hear(hub, { scope: { sessionID: root } })
      const tree = await hear(hub, { scope: { treeID: root } })
      const directory = await hear(hub, { scope: { directory: "/other" } })
      const all = await hear(hub)
      const rename = (sessionID: string, title: string) =>
        store.commit({ ops: [{ op: "session.patch", sessionID, set: { title } }] })
      await rename(root, "root")
      await rename(child, "child")
      const grandchild = await createSession(store, ids, { parentID: child })
      await rename(await createSession(store, ids), "alone")
      hub.setStatus(child, { type: "busy" })
      hub.setStatus(grandchild, { type: "busy" })
      await until(() => all.lines().filter((line) => line === "session.status busy").length === 2, all.lines)
      const ids_ = (heard: typeof all) =>
        new Set(
          heard.events().map(({ properties }) => ("info" in properties ? properties.info.id : properties)),
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

  test("does not tell what was committed before", () =>
    withHub(async (parts) => {
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID, "old"))
      const heard = await hear(parts.hub)
      await writing.seal()
      await until(() => heard.lines().includes("updated assistant stop"), heard.lines)
      expect(heard.lines()).not.toContain("updated user")
      expect(heard.lines()).not.toContain("session.created")
    }))

  test("gives a slow listener a bounded buffer, then the place to continue from; others hear everything", () =>
    withHub(async (parts) => {
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID))
      const slow = parts.hub.subscribe({ bufferMax: 100 })
      const fast = await hear(parts.hub)
      await slow.ready
      await writing.piece(0, "x")
      await until(() => fast.events().length > 0, fast.lines)
      for (let index = 0; index < 500; index++) {
        writing.say(1 + index, "y")
        await turn()
      }
      await until(() => fast.events().length > 500, fast.lines)
      const frames = (await collect(slow.batches())).flat()
      expect(frames).toEqual([{ lagged: true, cursor: expect.any(String) }])
      await writing.piece(1, "y".repeat(500))
      const since = (frames[0] as { cursor: string }).cursor
      const again = await hear(parts.hub, { scope: { sessionID: writing.sessionID }, since })
      await until(() => again.frames.some((frame) => "synced" in frame), again.lines)
      expect(again.lines().at(-1)).toBe(`part.updated "x${"y".repeat(500)}"`)
    }))

  test("ends one by its signal, all by close, and refuses what cannot work", () =>
    withHub(async ({ hub, store, ids }) => {
      const abort = new AbortController()
      const one = await hear(hub, { signal: abort.signal })
      const other = await hear(hub)
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

  test("fails with the store's error, and only those who listen to the session", () =>
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
      const [one, other] = [bad, good].map((sessionID) => hear(hub, { scope: { sessionID } }))
      const [heardBad, heardGood] = [await one!, await other!]
      const rename = (sessionID: string) =>
        store.commit({ ops: [{ op: "session.patch", sessionID, set: { title: "beta" } }] })
      await Promise.all([rename(bad), rename(good)])
      expect(StemmaError.is(await rejection(heardBad.done), "internal")).toBe(true)
      await until(() => heardGood.lines().includes("session.updated"), heardGood.lines)
    }))

  test("a note on a prompt is a change of the message, and a revert made real removes what it hides", () =>
    withHub(async (parts) => {
      const { store, hub, ids } = parts
      const writing = await startWriting(parts)
      await writing.put(text(writing.partID, "answer"))
      await writing.seal()
      const { sessionID } = writing
      const { items } = await store.history(sessionID)
      const heard = await hear(hub)
      const messageID = items[0]!.message.id
      await writing.commit({
        op: "note.put",
        sessionID,
        messageID,
        key: "summary",
        value: { title: "a summary", diffs: [] },
      })
      await until(() => heard.lines().includes("updated user"), heard.lines)
      const segment = ids.next("segment")
      await writing.commit({ op: "history.move", sessionID, segment, messageID: writing.messageID })
      await until(() => heard.lines().includes("removed"), heard.lines)
      const removed = heard.events().find(({ type }) => type === "message.removed")
      expect(removed?.properties).toEqual({ sessionID, messageID: writing.messageID })
    }))
})

describe("what the hub costs", () => {
  test("rows are read once, however many listen, and only of sessions that somebody listens to", async () => {
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
    const heard = await Promise.all(
      Array.from({ length: 20 }, () => hear(hub, { scope: { sessionID: one } })),
    )
    await hear(hub, { scope: { sessionID: two } })
    for (const sessionID of [one, three]) {
      await store.commit({ ops: [{ op: "session.patch", sessionID, set: { title: "beta" } }] })
    }
    await until(() => heard.every(({ lines }) => lines().includes("session.updated")))
    expect(reads).toEqual([one])
  })

  test("a process ends when the hub and the store are closed, and nothing is left unhandled", async () => {
    const script = `
      import { createMemoryStore } from "./src/stores/memory.ts"
      import { createHub } from "./src/stream/index.ts"
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
  test("what another one commits is told", async () => {
    await using directory = await temporaryDirectory()
    const driver = drivers.find(({ name }) => name === "sqlite")!
    await using store = await driver.open(directory.path)
    await using other = await driver.open(directory.path)
    await using hub = createHub({ store })
    const heard = await hear(hub)
    const writing = await startWriting({ store: other })
    await writing.put({ id: writing.partID, type: "text", text: "" })
    for (let index = 0; index < 5; index++) {
      await writing.piece(index * 4, "abcd")
      await sleep(10)
    }
    await writing.seal()
    await until(() => heard.lines().includes("updated assistant stop"), heard.lines)
    let told = ""
    for (const event of heard.events()) {
      if (event.type === "message.part.updated" && event.properties.part.id === writing.partID) {
        told = (event.properties.part as { text: string }).text
      }
      if (event.type === "message.part.delta") {
        expect(event.properties.offset).toBe(told.length)
        told += event.properties.delta
      }
    }
    expect(told).toBe("abcd".repeat(5))
  })
})
