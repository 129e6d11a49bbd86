/**
 * One of several processes on one store: admits items to every session, claims sessions, and takes the items that it
 * finds. Prints acknowledged calls to stdout. Started by `inbox-crowd.ts`; runs until it gets a message or is killed.
 */
import { writeSync } from "node:fs"
import { flushCompileCache } from "node:module"
import { type InboxItem, StemmaError } from "../../../src/protocol/index.ts"
import type { Store } from "../../../src/stores/store.ts"
import { driverNamed } from "../drivers.ts"
import { plainId } from "../ids.ts"
import { sampleUser } from "../samples.ts"
import { randomFrom } from "../seed.ts"
import { dieWithParent } from "./lifeline.ts"

export interface InboxGo {
  directory: string
  number: number
  seed: number
  sessionIDs: string[]
  /** How many items each process admits that the others admit too, under the same ids. */
  shared: number
  /** How many items the process admits in all before it only takes. */
  admits: number
  role: "worker" | "collector"
}

export type InboxLine =
  | { admitting: string }
  | { admitted: string; sessionID: string; duplicate: boolean }
  | { taking: string }
  | { took: string }
  | { collected: number }
  | { failed: string }

export function promptItem(sessionID: string, id: string, time: number): InboxItem {
  const parts = [{ id: id.replace("msg", "prt"), type: "text" as const, text: `prompt ${id}` }]
  return { id, sessionID, time, type: "prompt", delivery: "queue", message: sampleUser(id, 1), parts }
}

/** Takes the items of a session's inbox, if no other process holds its lease. */
export async function takeAll(
  store: Store,
  sessionID: string,
  print: (line: InboxLine) => void,
): Promise<boolean> {
  const lease = await unlessConflict(store.claim(sessionID))
  if (!lease) return false
  for (const item of await store.inbox(sessionID)) {
    if (item.type !== "prompt") continue
    print({ taking: item.id })
    await store.commit({
      ops: [
        { op: "inbox.take", sessionID, itemID: item.id },
        { op: "message.append", sessionID, message: item.message, parts: item.parts, sealed: true },
      ],
      fences: { [sessionID]: lease.fence },
    })
    print({ took: item.id })
  }
  await store.release(lease)
  return true
}

async function unlessConflict<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise
  } catch (error) {
    if (StemmaError.is(error, "conflict")) return undefined
    throw error
  }
}

async function work(go: InboxGo, store: Store): Promise<void> {
  const random = randomFrom(go.seed)
  const one = <T>(list: T[]): T => list[Math.floor(random() * list.length)]!
  let shared = 0
  for (let count = 0; !stopped; count++) {
    if (count < go.admits) await admitOne(count)
    if (random() < 0.4) await takeAll(store, one(go.sessionIDs), print)
    await new Promise((resolve) => setTimeout(resolve, random() * 12))
  }

  async function admitOne(count: number): Promise<void> {
    const isShared = shared < go.shared && random() < 0.2
    const id = isShared ? plainId("message", shared) : plainId("message", count, go.number + 1)
    const sessionID = isShared ? go.sessionIDs[shared % go.sessionIDs.length]! : one(go.sessionIDs)
    if (isShared) shared++
    print({ admitting: id })
    const { duplicate } = await store.admit(promptItem(sessionID, id, Date.now()))
    print({ admitted: id, sessionID, duplicate })
  }
}

async function keepCollecting(store: Store): Promise<void> {
  while (!stopped) {
    const { messages } = await store.collect({ blobAgeMs: 0, importAgeMs: 0 })
    print({ collected: messages })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function print(line: InboxLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

let stopped = false

async function main(name: string): Promise<void> {
  dieWithParent()
  const driver = driverNamed(name)
  await driver.load()
  // A killed process writes no compile cache. Writing it here makes the next processes start faster.
  flushCompileCache()
  process.once("message", async (go: InboxGo) => {
    process.once("message", () => {
      stopped = true
    })
    try {
      await using store = await driver.open(go.directory)
      if (go.role === "collector") await keepCollecting(store)
      else await work(go, store)
    } catch (error) {
      print({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
    process.disconnect()
  })
  process.send!("ready")
}

if (import.meta.main) await main(process.argv[2]!)
