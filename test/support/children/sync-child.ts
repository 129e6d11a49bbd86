/** Makes a few calls of each durable kind, one after the other, and marks request and answer on stdout for strace. */
import { writeSync } from "node:fs"
import type { Op } from "../../../src/stores/commit.ts"
import { driverNamed } from "../drivers.ts"
import { plainId } from "../ids.ts"
import { sampleAssistant, sampleUser } from "../samples.ts"
import { dieWithParent } from "./lifeline.ts"

const [name, durability, directory] = process.argv.slice(2) as [string, "normal" | "full", string]
dieWithParent()
const store = await driverNamed(name).open(directory, { durability })

async function marked(what: string, call: () => Promise<unknown>): Promise<void> {
  writeSync(1, `request ${what}\n`)
  await call()
  writeSync(1, `answer ${what}\n`)
}

const sessionID = plainId("session", 1)
const time = { created: 1, updated: 1 }
const session = {
  id: sessionID,
  projectID: "one",
  directory: "/project",
  title: "sync",
  version: "0.1.0",
  time,
}
const create: Op = { op: "session.create", session, segment: plainId("segment", 1) }
await marked("create", () => store.commit({ ops: [create] }))

const { fence } = await store.claim(sessionID)
const fences = { [sessionID]: fence }
const messageID = plainId("message", 2)
const partID = plainId("part", 1)
for (let count = 0; count < 5; count++) {
  const user = sampleUser(plainId("message", 10 + count), 1)
  await marked(`append ${count}`, () =>
    store.commit({ ops: [{ op: "message.append", sessionID, message: user, sealed: true }], fences }),
  )
}
const message = sampleAssistant(messageID, plainId("message", 10), 1)
const parts = [{ id: partID, type: "text" as const, text: "" }]
await marked("open", () =>
  store.commit({ ops: [{ op: "message.append", sessionID, message, parts }], fences }),
)
const piece = { op: "piece.add" as const, sessionID, messageID, partID, field: "text" as const }
await marked("pieces of one turn", () =>
  Promise.all([
    store.commit({ ops: [{ ...piece, offset: 0, text: "one " }], fences }),
    store.commit({ ops: [{ ...piece, offset: 4, text: "two" }], fences }),
  ]),
)
await marked("seal", () => store.commit({ ops: [{ op: "message.seal", sessionID, messageID }], fences }))
await marked("admit", () => store.admit({ id: "abort:1", sessionID, time: 1, type: "abort" }))
await marked("blob", () => store.blobs.put(new TextEncoder().encode("attachment")))
await store.close()
process.disconnect()
