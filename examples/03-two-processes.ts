// One process follows a session while another process writes it. Run it: node examples/03-two-processes.ts
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { openStore } from "../src/index.ts"
import { newSession, segment, text, user } from "./messages.ts"

const said = ["Can you hear me?", "听得到吗？", "Good."]
const [role, path = "", writtenID = ""] = process.argv.slice(2)
if (role === "writer") await write()
else await watch()

async function write(): Promise<void> {
  await using store = await openStore({ path })
  const lease = await store.claim(writtenID)
  for (const line of said) {
    await sleep(50)
    await store.commit({
      ops: [
        { op: "message.append", sessionID: writtenID, message: user(), parts: [text(line)], sealed: true },
      ],
      fences: { [writtenID]: lease.fence },
    })
  }
  await store.release(lease)
}

/** Waits for a commit, then reads the changes after its cursor. */
async function watch(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "stemma-two-"))
  const file = join(directory, "stemma.db")
  const store = await openStore({ path: file })
  const session = newSession("Two processes")
  let { cursor } = await store.commit({ ops: [{ op: "session.create", session, segment: segment() }] })

  let wake = Promise.withResolvers<void>()
  const stop = store.watch(() => wake.resolve())
  const child = spawn(process.execPath, [import.meta.filename, "writer", file, session.id], {
    stdio: "inherit",
  })
  console.log(`Process ${process.pid} watches, process ${child.pid} writes.`)

  let heard = 0
  while (heard < said.length) {
    wake = Promise.withResolvers()
    const page = await store.changes({ sessionID: session.id }, cursor)
    cursor = page.cursor
    for (const row of page.rows) {
      if (row.type !== "part" || row.part.type !== "text") continue
      heard++
      console.log(`  position ${row.position}: ${row.part.text}`)
    }
    if (page.rows.length === 0) await wake.promise
  }
  console.log(`Heard all ${heard} messages.`)
  stop()
  await once(child, "exit")
  await store.close()
  await rm(directory, { recursive: true })
}
