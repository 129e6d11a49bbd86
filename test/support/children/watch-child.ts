/**
 * One of several processes that each write their own session and watch the sessions of the others. Prints to stdout, by
 * the system's monotonic clock, when it wrote and when it saw. Ends by itself.
 */
import { writeSync } from "node:fs"
import { driverNamed } from "../drivers.ts"
import { dieWithParent } from "./lifeline.ts"

export interface WatchGo {
  directory: string
  sessionID: string
  /** The sessions that the others write. */
  others: string[]
  writes: number
}

export type WatchLine =
  | { wrote: string; atMs: number }
  | { saw: string; sessionID: string; atMs: number }
  | { failed: string }

const nowMs = () => Number(process.hrtime.bigint()) / 1e6
const print = (line: WatchLine) => writeSync(1, `${JSON.stringify(line)}\n`)
/** The timeout for seeing a commit. */
const lastSeenMs = 20_000
const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function watchAndWrite(go: WatchGo, name: string): Promise<void> {
  await using store = await driverNamed(name).open(go.directory)
  let cursor = await store.cursor()
  let pulling = Promise.resolve()
  const unseen = new Set(go.others.map((sessionID) => `${sessionID} ${go.writes}`))
  const stop = store.watch(() => {
    const atMs = nowMs()
    pulling = pulling.then(async () => {
      const changes = await store.changes({ directory: "/project" }, cursor)
      cursor = changes.cursor
      for (const row of changes.rows) {
        if (row.type === "session" && row.sessionID !== go.sessionID) {
          unseen.delete(row.session.title)
          print({ saw: row.session.title, sessionID: row.sessionID, atMs })
        }
      }
    })
  })
  await delay(300)
  for (let count = 1; count <= go.writes; count++) {
    const title = `${go.sessionID} ${count}`
    const atMs = nowMs()
    await store.commit({ ops: [{ op: "session.patch", sessionID: go.sessionID, set: { title } }] })
    print({ wrote: title, atMs })
    await delay(15 + (count % 7) * 10)
  }
  for (const end = nowMs() + lastSeenMs; unseen.size > 0 && nowMs() < end; ) await delay(20)
  stop()
  await pulling
}

const name = process.argv[2]!
dieWithParent()
await driverNamed(name).load()
process.once("message", async (go: WatchGo) => {
  try {
    await watchAndWrite(go, name)
  } catch (error) {
    print({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
  process.disconnect()
})
process.send!("ready")
