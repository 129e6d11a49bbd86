/**
 * Tries to use a store where the system refuses: as another user, or on a full disk. Prints the outcome to stdout.
 * Arguments: driver, directory, the user id to become (0: stay), and a file to delete when the disk is full.
 */
import { writeSync } from "node:fs"
import { readdir, rm, writeFile } from "node:fs/promises"
import { StemmaError } from "../../../src/protocol/index.ts"
import type { Store } from "../../../src/stores/store.ts"
import { newSession } from "../bad-input-fixture.ts"
import { driverNamed } from "../drivers.ts"
import { plainId } from "../ids.ts"
import { dieWithParent } from "./lifeline.ts"

export interface Refused {
  /** The session ids whose commits were acknowledged. */
  done: string[]
  /** The sessions that the store listed after the refusal. */
  listed: string[] | undefined
  error: { isOurs: boolean; code: string; message: string } | undefined
  /** Whether a commit worked when there was space again. */
  recovered: boolean
  problems: string[] | undefined
  files: string[]
}

const [name, directory, uid, ballast] = process.argv.slice(2) as [string, string, string, string | undefined]
const commitsMax = 3000

async function run(): Promise<Refused> {
  const result: Refused = {
    done: [],
    listed: undefined,
    error: undefined,
    recovered: false,
    problems: undefined,
    files: [],
  }
  const driver = driverNamed(name)
  await driver.load()
  if (uid !== "0") process.setuid!(Number(uid))
  if (ballast) await writeFile(ballast, new Uint8Array(300_000))
  try {
    await using store = await driver.open(directory)
    try {
      while (result.done.length < commitsMax) await commitOne(store, result)
    } catch (error) {
      result.error = describe(error)
    }
    result.listed = await listAll(store)
    if (ballast) {
      await rm(ballast)
      await commitOne(store, result)
      result.recovered = true
    }
    result.problems = (await store.check()).problems
  } catch (error) {
    result.error ??= describe(error)
  }
  result.files = await readdir(directory).catch(() => [])
  return result
}

async function commitOne(store: Store, { done }: Refused): Promise<void> {
  const session = { ...newSession(plainId("session", done.length)), title: "x".repeat(2000) }
  await store.commit({ ops: [{ op: "session.create", session, segment: plainId("segment", done.length) }] })
  done.push(session.id)
}

async function listAll(store: Store): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.sessions({ order: "created", limit: 1000, cursor })
    ids.push(...page.items.map((session) => session.id))
    cursor = page.next
  } while (cursor !== undefined)
  return ids
}

function describe(error: unknown): Refused["error"] {
  const { code, message } = error as { code?: string; message?: string }
  return { isOurs: StemmaError.is(error), code: String(code), message: String(message) }
}

dieWithParent()
writeSync(1, `${JSON.stringify(await run())}\n`)
process.disconnect()
