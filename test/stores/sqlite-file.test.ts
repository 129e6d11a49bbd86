import { readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { Samples } from "../../src/stores/conformance/samples.ts"
import { type Run, Scene } from "../../src/stores/conformance/scene.ts"
import { openJsonlStore } from "../../src/stores/jsonl/index.ts"
import { openSqliteStore } from "../../src/stores/sqlite/index.ts"
import type { Store } from "../../src/stores/store.ts"
import { until } from "../support/run-scene.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

/** A scene on a database file; `await using` closes its store. */
async function sceneIn(path: string): Promise<Scene & AsyncDisposable> {
  const open = (options: object) => openSqliteStore({ path, ...options })
  const scene = new Scene(
    {
      capabilities: { durable: true, multiProcess: true, sharesHistory: true, indexedSearch: true },
      open: (options = {}) => open(options),
      reopen: async (store: Store, options = {}) => {
        await store.close()
        return await open(options)
      },
    },
    1,
  )
  await scene.open()
  return Object.assign(scene, { [Symbol.asyncDispose]: () => scene.close() })
}

/** Streams a text in pieces and seals it. */
async function stream(scene: Scene, run: Run, text: string, pieceUnits: number): Promise<string> {
  const part = scene.make.text("")
  const messageID = await run.begin(part)
  for (let offset = 0; offset < text.length; offset += pieceUnits) {
    await run.grow(messageID, { partID: part.id, offset, text: text.slice(offset, offset + pieceUnits) })
  }
  await run.seal(messageID)
  return messageID
}

async function filesHold(path: string, text: string): Promise<boolean> {
  const needle = Buffer.from(text)
  for (const file of [path, `${path}-wal`]) {
    const bytes = await readFile(file).catch(() => Buffer.alloc(0))
    if (bytes.includes(needle)) return true
  }
  return false
}

test("redacted text is in no file, whether it was streamed or indexed", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "stemma.db")
  await using scene = await sceneIn(path)
  const run = await scene.session()
  const short = await run.say("the password is hunter2secret")
  const streamed = await stream(scene, run, `before ${"xyzzytoken ".repeat(30)} after`, 16)
  const long = await stream(scene, run, `plughlong ${"filler ".repeat(6000)}`, 4096)
  await scene.store.search({ text: "hunter2secret" })
  const late = await run.say("not yet indexed swordfishword")
  for (const messageID of [short, streamed, long, late]) {
    await scene.store.redact({ sessionID: run.id, messageID })
  }
  for (const text of ["hunter2secret", "xyzzytoken", "plughlong", "swordfishword"]) {
    expect(await filesHold(path, text), text).toBe(false)
    expect((await scene.store.search({ text })).hits).toEqual([])
  }
  expect(await scene.store.check()).toEqual({ problems: [] })
})

test("a removed session leaves no text in the file", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "stemma.db")
  await using scene = await sceneIn(path)
  const run = await scene.session({ title: "titleword" })
  await run.say("removedword here")
  await scene.store.search({ text: "removedword" })
  await scene.store.remove(run.id)
  await scene.reopen()
  for (const text of ["removedword", "titleword"]) expect(await filesHold(path, text), text).toBe(false)
})

test("long text reads the same before and after sealing, in forks, in search and after reopening", async () => {
  await using directory = await temporaryDirectory()
  await using scene = await sceneIn(join(directory.path, "stemma.db"))
  const run = await scene.session()
  const text = `${"word ".repeat(20_000)}needleword 针尖`
  await run.say("first")
  await stream(scene, run, text, 5000)
  const after = await stream(scene, run, "short", 2)
  const fork = await scene.fork(run.id)
  for (const session of [run, fork]) expect(await session.texts()).toEqual(["first", text, "short"])
  await scene.reopen()
  expect(await fork.texts()).toEqual(["first", text, "short"])
  for (const query of ["needleword", "针尖"]) {
    const { hits } = await scene.store.search({ text: query })
    expect(hits.map(({ position, forks }) => ({ position, forks }))).toEqual([{ position: 1, forks: 1 }])
  }
  const rows = await scene.rows({ sessionID: run.id })
  const parts = rows.flatMap((row) =>
    row.type === "part" && row.part.type === "text" ? [row.part.text] : [],
  )
  expect(parts).toEqual(["first", text, "short"])
  expect((await scene.store.history(run.id, { messageID: after })).items).toHaveLength(1)
})

test("a title that changes and changes back is found each time", async () => {
  await using directory = await temporaryDirectory()
  await using scene = await sceneIn(join(directory.path, "stemma.db"))
  const [one, two] = [await scene.session({ title: "alpha" }), await scene.session({ title: "other" })]
  const find = async (text: string) => (await scene.store.search({ text })).hits.map((hit) => hit.sessionID)
  const title = (sessionID: string, value: string) =>
    scene.store.commit({ ops: [{ op: "session.patch", sessionID, set: { title: value } }] })
  expect(await find("alpha")).toEqual([one.id])
  await Promise.all([title(one.id, "alpha"), title(two.id, "alpha x")])
  expect(await find("alpha")).toEqual([two.id, one.id])
  await title(one.id, "beta")
  await title(one.id, "alpha")
  expect(await find("alpha")).toEqual([two.id, one.id])
  expect(await find("other")).toEqual([])
  expect(await scene.store.check()).toEqual({ problems: [] })
})

test("a title that loses words and is then removed keeps the search index valid", async () => {
  await using directory = await temporaryDirectory()
  await using scene = await sceneIn(join(directory.path, "stemma.db"))
  const run = await scene.session({ title: "alpha 100% of 3.14" })
  const keep = await scene.session({ title: "gamma" })
  const find = async (text: string) => (await scene.store.search({ text })).hits.map((hit) => hit.sessionID)
  await find("alpha")
  for (const title of ["100% of 3.14", "of", "!!", "of 3.14", "!!"]) {
    await scene.store.commit({ ops: [{ op: "session.patch", sessionID: run.id, set: { title } }] })
    expect(await find("alpha")).toEqual([])
  }
  await scene.store.remove(run.id)
  expect(await find("of")).toEqual([])
  expect(await find("gamma")).toEqual([keep.id])
  expect(await scene.store.check()).toEqual({ problems: [] })
})

test("the write-ahead log stays bounded while commits come as fast as they can", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "stemma.db")
  await using scene = await sceneIn(path)
  const run = await scene.session()
  const part = scene.make.text("")
  const messageID = await run.begin(part)
  let most = 0
  let offset = 0
  for (let i = 0; i < 6000; i++) {
    const text = "some more text ".repeat(i % 10 === 0 ? 200 : 4)
    await run.grow(messageID, { partID: part.id, offset, text })
    offset += text.length
    if (i % 50 === 0) most = Math.max(most, (await stat(`${path}-wal`)).size)
  }
  expect(most).toBeLessThan(8 * 1024 * 1024)
  expect(most).toBeGreaterThan(0)
})

test("five seconds after the last commit, the log is empty and the database has everything", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "stemma.db")
  await using scene = await sceneIn(path)
  const run = await scene.session()
  for (let i = 0; i < 200; i++) await run.say(`Message ${i} of the session.`)
  const last = performance.now()
  expect((await stat(`${path}-wal`)).size).toBeGreaterThan(100_000)
  await until("the log is empty", async () => (await stat(`${path}-wal`)).size === 0)
  expect(performance.now() - last).toBeLessThan(5000)
  let sum = 0
  for (const name of await readdir(directory.path)) {
    const info = await stat(join(directory.path, name))
    if (info.isFile()) sum += info.size
  }
  expect(sum).toBeLessThan(300_000)
})

test("a database of another program is refused and not changed", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "other.db")
  const other = new DatabaseSync(path)
  other.exec("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
  other.close()
  const before = await readFile(path)
  await expect(openSqliteStore({ path })).rejects.toMatchObject({ code: "invalid" })
  expect(await readFile(path)).toEqual(before)
  await writeFile(join(directory.path, "text.db"), "this is not a database at all, only some text".repeat(50))
  await expect(openSqliteStore({ path: join(directory.path, "text.db") })).rejects.toMatchObject({
    code: "internal",
  })
})

test("close finishes commits that were already called", async () => {
  await using directory = await temporaryDirectory()
  await using scene = await sceneIn(join(directory.path, "stemma.db"))
  const run = await scene.session()
  const handedIn = [
    run.say("last words"),
    scene.store.collect(),
    scene.store.check(),
    scene.store.blobs.put(new Uint8Array([1])),
    scene.store.search({ text: "words" }),
  ]
  await scene.store.close()
  expect((await Promise.allSettled(handedIn)).map(({ status }) => status)).toEqual(
    handedIn.map(() => "fulfilled"),
  )
  await expect(scene.store.session(run.id)).rejects.toMatchObject({ code: "unavailable" })
})

test("a symlink to the database uses the same blobs, and a removed database file is not created again", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "stemma.db")
  await using scene = await sceneIn(path)
  await symlink(path, join(directory.path, "link.db"))
  await using linked = await openSqliteStore({ path: join(directory.path, "link.db") })
  const hash = await scene.store.blobs.put(new Uint8Array([1, 2, 3]))
  expect(await linked.blobs.get(hash)).toEqual(new Uint8Array([1, 2, 3]))
  await rm(path)
  await expect(scene.store.search({ text: "words" })).rejects.toMatchObject({ code: "unavailable" })
})

test("a read-only store sees commits and refuses to write", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "stemma.db")
  await using scene = await sceneIn(path)
  const run = await scene.session()
  await run.say("readable words")
  await using reader = await openSqliteStore({ path, readOnly: true })
  expect((await reader.history(run.id)).items).toHaveLength(1)
  await run.say("later words")
  expect((await reader.history(run.id)).items).toHaveLength(2)
  expect((await reader.search({ text: "words" })).hits).toHaveLength(2)
  await expect(reader.claim(run.id)).rejects.toMatchObject({ code: "denied" })
  await expect(
    openSqliteStore({ path: join(directory.path, "none.db"), readOnly: true }),
  ).rejects.toMatchObject({
    code: "not_found",
  })
})

/**
 * The permission bits of other users for the files of a directory, by name, without files that other users cannot
 * access.
 */
async function openToOthers(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true })
  const found: string[] = []
  for (const name of names) {
    const { mode } = await stat(join(directory, name))
    if ((mode & 0o077) !== 0) found.push(`${name} ${(mode & 0o777).toString(8)}`)
  }
  return found.sort()
}

test.skipIf(process.platform === "win32")(
  "files that a store creates are accessible to their owner only, in every driver",
  async () => {
    await using directory = await temporaryDirectory()
    const make = new Samples(1, { now: () => 1_000 })
    for (const [name, open] of [
      ["sqlite", () => openSqliteStore({ path: join(directory.path, "sqlite", "data", "stemma.db") })],
      ["jsonl", () => openJsonlStore({ directory: join(directory.path, "jsonl", "data") })],
    ] as const) {
      await using store = await open()
      await store.blobs.put(Buffer.from("a picture"))
      await store.commit({
        ops: [{ op: "session.create", session: make.session(), segment: make.id("segment") }],
      })
      expect({ name, found: await openToOthers(directory.path) }).toEqual({ name, found: [] })
    }
  },
)
