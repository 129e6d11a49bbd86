// Kills a process that streams an answer: everything it had committed is kept. Run it: node examples/02-crash.ts
import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { createID, openStore } from "../src/index.ts"
import { assistant, newSession, segment, text, user } from "./messages.ts"

const [role, path = ""] = process.argv.slice(2)
if (role === "writer") await stream()
else await crashAndLook()

/** Adds pieces to one text part, and prints the length of the text after each commit. */
async function stream(): Promise<void> {
  const store = await openStore({ path })
  const session = newSession("A story")
  const sessionID = session.id
  const prompt = user()
  const answer = assistant(prompt)
  const part = { id: createID("part", Date.now()), type: "text" as const, text: "" }
  await store.commit({
    ops: [
      { op: "session.create", session, segment: segment() },
      { op: "message.append", sessionID, message: prompt, parts: [text("Tell a story.")], sealed: true },
      { op: "message.append", sessionID, message: answer, parts: [part] },
    ],
  })
  console.log(sessionID)
  const { fence } = await store.claim(sessionID)
  for (let offset = 0, word = 1; ; word++) {
    const piece = `word ${word}, `
    await store.commit({
      ops: [
        {
          op: "piece.add",
          sessionID,
          messageID: answer.id,
          partID: part.id,
          field: "text",
          offset,
          text: piece,
        },
      ],
      fences: { [sessionID]: fence },
    })
    offset += piece.length
    console.log(offset)
    await sleep(5)
  }
}

async function crashAndLook(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "stemma-crash-"))
  const file = join(directory, "stemma.db")
  const child = spawn(process.execPath, [import.meta.filename, "writer", file], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  let sessionID = ""
  let acknowledged = 0
  for await (const line of createInterface(child.stdout)) {
    if (sessionID === "") sessionID = line
    else acknowledged = Number(line)
    if (acknowledged > 300) child.kill("SIGKILL")
  }
  console.log(`The writer was killed after ${acknowledged} characters were acknowledged.`)

  const store = await openStore({ path: file })
  const { items } = await store.history(sessionID)
  const { message, parts, sealed } = items.at(-1)!
  const [part] = parts
  const found = part?.type === "text" ? part.text : ""
  console.log(`Opened again: ${found.length} characters, ending in "${found.slice(-18)}"; sealed: ${sealed}.`)
  console.log(found.length >= acknowledged ? "Nothing acknowledged is missing." : "Something is MISSING.")

  // The lease of a dead process can be claimed at once. The message is sealed with the text that was committed.
  const lease = await store.claim(sessionID)
  await store.commit({
    ops: [{ op: "message.seal", sessionID, messageID: message.id }],
    fences: { [sessionID]: lease.fence },
  })
  console.log(`Sealed by the next holder, with fence ${lease.fence}.`)
  await store.close()
  await rm(directory, { recursive: true })
}
