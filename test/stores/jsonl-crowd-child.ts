/**
 * Writes to a store that other processes use too: appends messages to one session under its lease, or appends to the
 * session's file like a program that takes no lock.
 */
import { appendFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { StemmaError } from "../../src/protocol/index.ts"
import { openJsonlStore } from "../../src/stores/jsonl/index.ts"
import { sayOp, sessionID } from "./jsonl-scene.ts"

const [directory, name, count] = process.argv.slice(2) as [string, string, string]

if (name === "stranger") await writeWithoutLock()
else await writeUnderLease()

async function writeWithoutLock(): Promise<void> {
  const file = `${directory}/agents/main/sessions/${sessionID}.jsonl`
  for (let number = 0; number < Number(count); number++) {
    const message = { role: "user", content: `stranger ${number}`, timestamp: 1_700_000_000_000 + number }
    const timestamp = "2026-01-01T00:00:00.000Z"
    const line = { type: "message", id: `stranger${number}`, parentId: null, timestamp, message }
    appendFileSync(file, `${JSON.stringify(line)}\n`)
    await sleep(Math.random() * 10)
  }
}

async function writeUnderLease(): Promise<void> {
  await using store = await openJsonlStore({ directory })
  for (let number = 0; number < Number(count); number++) {
    const lease = await claim(store)
    await store.commit({
      ops: [sayOp(`${name}${number}`, `${name} ${number}`)],
      fences: { [sessionID]: lease.fence },
    })
    await store.release(lease)
  }
}

async function claim(store: Awaited<ReturnType<typeof openJsonlStore>>) {
  for (;;) {
    try {
      return await store.claim(sessionID)
    } catch (error) {
      if (!StemmaError.is(error, "conflict")) throw error
      await sleep(Math.random() * 5)
    }
  }
}
