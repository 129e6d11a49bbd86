import { existsSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { Samples } from "../../src/stores/conformance/samples.ts"
import { openSqliteStore } from "../../src/stores/sqlite/index.ts"
import type { Store } from "../../src/stores/store.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const make = new Samples(1, { now: () => 1_000 })

async function createSession(store: Store): Promise<string> {
  const share = { url: "https://example.org/before" }
  const session = make.session({ share })
  await store.commit({ ops: [{ op: "session.create", session, segment: make.id("segment") }] })
  return session.id
}

/** Removes what the second migration added. */
function toFirstVersion(path: string): void {
  const db = new DatabaseSync(path)
  db.exec(`DROP INDEX permissions_open; DROP INDEX permissions_named; DROP INDEX sessions_share;
    ALTER TABLE sessions DROP COLUMN share; PRAGMA user_version = 1`)
  db.close()
}

test("a file of the first version is copied and migrated, and its questions and shares are found", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "stemma.db")
  let sessionID = ""
  const [asked, answered] = [0, 1].map(() => make.permission(""))
  {
    await using store = await openSqliteStore({ path })
    sessionID = await createSession(store)
    for (const request of [
      { ...asked!, sessionID },
      { ...answered!, sessionID, reply: "once" as const },
    ]) {
      await store.commit({ ops: [{ op: "permission.put", request }] })
    }
  }
  toFirstVersion(path)
  await expect(openSqliteStore({ path, readOnly: true })).rejects.toMatchObject({ code: "unsupported" })

  await using store = await openSqliteStore({ path })
  expect(existsSync(`${path}.v1.bak`)).toBe(true)
  expect(await store.permissions({ open: true })).toEqual([{ ...asked!, sessionID }])
  expect(await store.permissions({ permissionID: answered!.id })).toMatchObject([{ reply: "once" }])
  expect((await store.session(sessionID)).share).toEqual({ url: "https://example.org/before" })
  const secret = "s".repeat(32)
  const set = { share: { url: "https://example.org/now", secret } }
  await store.commit({ ops: [{ op: "session.patch", sessionID, set }] })
  expect((await store.sessions({ share: secret })).items).toMatchObject([{ id: sessionID }])
  expect(await store.check()).toEqual({ problems: [] })
})

test("the secret of a share is stored as a hash", async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "stemma.db")
  {
    await using store = await openSqliteStore({ path })
    const sessionID = await createSession(store)
    const share = { url: "https://example.org", secret: "s".repeat(32) }
    await store.commit({ ops: [{ op: "session.patch", sessionID, set: { share } }] })
  }
  using db = new DatabaseSync(path)
  const row = db.prepare("SELECT hex(share) AS share FROM sessions").get()
  expect(row?.share).toMatch(/^[0-9A-F]{64}$/)
})
