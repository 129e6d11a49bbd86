import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { appendFile, chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { makeFixture } from "../support/bad-input-fixture.ts"
import { startChild } from "../support/child-process.ts"
import type { Refused } from "../support/children/refused-child.ts"
import { type Driver, driverNamed, durableDrivers, sqliteFile } from "../support/drivers.ts"
import { expectHelpful, expectSentence, rejection } from "../support/rejection.ts"
import { type TemporaryDirectory, temporaryDirectory } from "../support/temporary-directory.ts"

const sqlite = driverNamed("sqlite")
const jsonl = driverNamed("jsonl")

/** A closed store that contains the fixture. */
async function closedStore(driver: Driver) {
  const directory = await temporaryDirectory()
  const store = await driver.open(directory.path)
  const fixture = await makeFixture(store)
  await store.close()
  return { directory, fixture, [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() }
}

/** The hashes of all files that are not empty, except lock files and SQLite's shared memory. */
async function contents(directory: TemporaryDirectory): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(directory.path, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /-shm$|\.lock$/.test(entry.name)) continue
    const path = join(entry.parentPath, entry.name)
    const bytes = await readFile(path)
    if (bytes.length > 0) found[path] = createHash("sha256").update(bytes).digest("hex")
  }
  return found
}

describe("sqlite", () => {
  it.each([
    ["a part", "UPDATE parts SET data = '{broken'"],
    ["a message", "UPDATE messages SET data = '{broken'"],
  ])("reports malformed JSON in %s, and check finds it", async (_what, damage) => {
    await using closed = await closedStore(sqlite)
    execute(closed.directory, damage)
    const before = await rowsOf(closed.directory)
    await using store = await sqlite.open(closed.directory.path)
    expectHelpful(await rejection(store.history(closed.fixture.calm)), "internal")
    expect((await store.session(closed.fixture.calm)).title).toBe("a fixture")
    expect((await store.check()).problems).not.toEqual([])
    expect(await rowsOf(closed.directory)).toEqual(before)
  })

  it("reports malformed JSON in a session", async () => {
    await using closed = await closedStore(sqlite)
    execute(closed.directory, "UPDATE session_data SET data = '{broken'")
    await using store = await sqlite.open(closed.directory.path)
    expectHelpful(await rejection(store.session(closed.fixture.calm)), "internal")
  })

  it("refuses a database of a newer version and does not change it", async () => {
    await using closed = await closedStore(sqlite)
    execute(closed.directory, "PRAGMA user_version = 9999")
    const before = await contents(closed.directory)
    expectHelpful(await rejection(sqlite.open(closed.directory.path)), "unsupported")
    expectHelpful(await rejection(sqlite.open(closed.directory.path, { readOnly: true })), "unsupported")
    expect(await contents(closed.directory)).toEqual(before)
  })

  it("refuses a database of another program and does not change it", async () => {
    await using directory = await temporaryDirectory()
    execute(directory, "CREATE TABLE notes (text); PRAGMA application_id = 7")
    const before = await contents(directory)
    expectHelpful(await rejection(sqlite.open(directory.path)), "invalid")
    expect(await contents(directory)).toEqual(before)
  })

  it("refuses a file that is not a database and does not change it", async () => {
    await using directory = await temporaryDirectory()
    await writeFile(sqliteFile(directory.path), "This is a letter, not a database. ".repeat(50))
    const before = await contents(directory)
    expectHelpful(await rejection(sqlite.open(directory.path)), "internal")
    expect(await contents(directory)).toEqual(before)
  })

  function execute(directory: TemporaryDirectory, sql: string): void {
    const db = new DatabaseSync(sqliteFile(directory.path))
    db.exec(sql)
    db.close()
  }

  async function rowsOf(directory: TemporaryDirectory): Promise<unknown> {
    const db = new DatabaseSync(sqliteFile(directory.path), { readOnly: true })
    const rows = ["sessions", "messages", "parts", "tips"].map((table) =>
      db.prepare(`SELECT * FROM ${table}`).all(),
    )
    db.close()
    return rows
  }
})

describe("jsonl", () => {
  it("names the file and the line of a malformed line, and does not change the file", async () => {
    await using closed = await closedStore(jsonl)
    const path = await sessionFile(closed.directory, closed.fixture.calm)
    const lines = (await readFile(path, "utf8")).split("\n")
    await writeFile(path, lines.with(2, "{broken").join("\n"))
    const before = await contents(closed.directory)
    const error = await rejection(
      (async () => {
        await using store = await jsonl.open(closed.directory.path)
        await store.history(closed.fixture.calm)
      })(),
    )
    expectHelpful(error, "internal")
    expect(String(error)).toContain(`${closed.fixture.calm}.jsonl`)
    expect(String(error)).toMatch(/\b3\b/)
    expect((await contents(closed.directory))[path]).toBe(before[path])
  })

  it("opens a session whose last line is incomplete, and check reports the line", async () => {
    await using closed = await closedStore(jsonl)
    await appendFile(
      await sessionFile(closed.directory, closed.fixture.calm),
      '{"type":"message","id":"msg_cut',
    )
    await using store = await jsonl.open(closed.directory.path)
    expect((await store.history(closed.fixture.calm)).count).toBe(2)
    expect((await store.check()).problems).toEqual([expect.stringContaining("in the middle of a line")])
  })

  it("refuses a session of a newer version and does not change it", async () => {
    await using closed = await closedStore(jsonl)
    const path = await sessionFile(closed.directory, closed.fixture.calm)
    const text = await readFile(path, "utf8")
    const [header, ...rest] = text.split("\n")
    await writeFile(path, [JSON.stringify({ ...JSON.parse(header!), version: 99 }), ...rest].join("\n"))
    const before = await contents(closed.directory)
    const error = await rejection(
      (async () => {
        await using store = await jsonl.open(closed.directory.path)
        await store.history(closed.fixture.calm)
      })(),
    )
    expectHelpful(error, "unsupported")
    expect((await contents(closed.directory))[path]).toBe(before[path])
  })

  async function sessionFile(directory: TemporaryDirectory, sessionID: string): Promise<string> {
    const entries = await readdir(directory.path, { recursive: true })
    return join(directory.path, entries.find((entry) => entry.endsWith(`${sessionID}.jsonl`))!)
  }
})

const isRoot = process.getuid?.() === 0
const nobody = "65534"
const mountsPrivately =
  isRoot && spawnSync("unshare", ["-m", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]).status === 0

describe.each(durableDrivers)("$name", (driver) => {
  it('fails with code "denied" in a directory without write permission', async () => {
    await using directory = await temporaryDirectory()
    const stored = join(directory.path, "store")
    await mkdir(stored)
    await chmod(directory.path, 0o755)
    await chmod(stored, isRoot ? 0o755 : 0o555)
    const refused = await runRefused(driver, directory, { args: [stored, isRoot ? nobody : "0"] })
    expect(refused).toMatchObject({ done: [], files: [], error: { isOurs: true, code: "denied" } })
    expectSentence(refused.error!.message)
  })

  it('fails with code "denied" on another user\'s store, and does not change it', async () => {
    await using closed = await closedStore(driver)
    await chmod(closed.directory.path, isRoot ? 0o755 : 0o555)
    const before = await contents(closed.directory)
    await using output = await temporaryDirectory()
    const refused = await runRefused(driver, output, { args: [closed.directory.path, isRoot ? nobody : "0"] })
    await chmod(closed.directory.path, 0o755)
    expect(refused).toMatchObject({ done: [], error: { isOurs: true, code: "denied" } })
    expect(await contents(closed.directory)).toEqual(before)
  })

  it('fails with code "denied" for a path that leads through a file', async () => {
    await using directory = await temporaryDirectory()
    await writeFile(join(directory.path, "file"), "a file")
    expectHelpful(await rejection(driver.open(join(directory.path, "file", "store"))), "denied")
  })

  it('keeps acknowledged commits at the file size limit, and reports "unavailable"', async () => {
    await using directory = await temporaryDirectory()
    const refused = await runRefused(driver, directory, {
      wrapper: ["sh", "-c", 'ulimit -f 2000 && exec "$@"', "sh"],
      args: [join(directory.path, "store"), "0"],
    })
    expect(refused.error).toMatchObject({ isOurs: true, code: "unavailable" })
    expectSentence(refused.error!.message)
    expect(refused.listed?.toSorted()).toEqual(refused.done.toSorted())
    expect(refused.problems).toEqual([])
  })

  it('keeps acknowledged commits when the disk is full, reports "unavailable", and continues when there is space', async (context) => {
    if (!mountsPrivately) {
      const reason = "a small disk needs the right to mount one (root)"
      process.stdout.write(`bad-files: the full disk is skipped: ${reason}\n`)
      context.skip(reason)
    }
    await using directory = await temporaryDirectory()
    const disk = join(directory.path, "disk")
    await mkdir(disk)
    const refused = await runRefused(driver, directory, {
      wrapper: ["unshare", "-m", "sh", "-c", `mount -t tmpfs -o size=2m tmpfs ${disk} && exec "$@"`, "sh"],
      args: [join(disk, "store"), "0", join(disk, "ballast")],
    })
    expect(refused.error).toMatchObject({ isOurs: true, code: "unavailable" })
    expectSentence(refused.error!.message)
    expect(refused.done.length).toBeGreaterThan(20)
    expect(refused.recovered).toBe(true)
    expect(refused.listed?.toSorted()).toEqual(refused.done.slice(0, -1).toSorted())
    expect(refused.problems).toEqual([])
  })
})

async function runRefused(
  driver: Driver,
  directory: TemporaryDirectory,
  { args, wrapper }: { args: string[]; wrapper?: string[] },
): Promise<Refused> {
  await using child = startChild("refused-child.ts", {
    output: join(directory.path, "output"),
    args: [driver.name, ...args],
    wrapper,
  })
  await child.ended
  const [refused] = child.lines<Refused>()
  if (!refused) throw new Error(`The process said nothing: ${child.errors()}`)
  return refused
}
