/**
 * Tries to use a store where the system refuses: as another user, or on a full disk. Says on stdout what came of it.
 * Arguments: driver, directory, and the user id to become (0: stay).
 */
import { writeSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { StemmaError } from "../../../src/protocol/index.ts"
import { newSession } from "../bad-input-fixture.ts"
import { driverNamed } from "../drivers.ts"
import { plainId } from "../ids.ts"

export interface Refused {
  /** The session ids whose commits were acknowledged. */
  done: string[]
  /** What the store listed after the refusal. */
  listed: string[] | undefined
  error: { isOurs: boolean; code: string; message: string } | undefined
  problems: string[] | undefined
  files: string[]
}

const [name, directory, uid] = process.argv.slice(2) as [string, string, string]
const commitsMax = 3000

async function run(): Promise<Refused> {
  const result: Refused = { done: [], listed: undefined, error: undefined, problems: undefined, files: [] }
  const driver = driverNamed(name)
  await driver.load()
  if (uid !== "0") process.setuid!(Number(uid))
  try {
    await using store = await driver.open(directory)
    try {
      for (let count = 0; count < commitsMax; count++) {
        const session = { ...newSession(plainId("session", count)), title: "x".repeat(2000) }
        const ops = [{ op: "session.create" as const, session, segment: plainId("segment", count) }]
        await store.commit({ ops })
        result.done.push(session.id)
      }
    } catch (error) {
      result.error = describe(error)
    }
    result.listed = []
    let cursor: string | undefined
    do {
      const page = await store.sessions({ order: "created", limit: 1000, cursor })
      result.listed.push(...page.items.map((session) => session.id))
      cursor = page.next
    } while (cursor !== undefined)
    result.problems = (await store.check()).problems
  } catch (error) {
    result.error ??= describe(error)
  }
  result.files = await readdir(directory).catch(() => [])
  return result
}

function describe(error: unknown): Refused["error"] {
  const { code, message } = error as { code?: string; message?: string }
  return { isOurs: StemmaError.is(error), code: String(code), message: String(message) }
}

writeSync(1, `${JSON.stringify(await run())}\n`)
