// Writes, forks, reverts and searches a session with the store alone. Run it: node examples/01-hello.ts
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Op, openStore, transcript, version } from "../src/index.ts"
import { assistant, newSession, segment, text, toolCall, user } from "./messages.ts"

const directory = await mkdtemp(join(tmpdir(), "stemma-hello-"))
const store = await openStore({ path: join(directory, "stemma.db") })
console.log(`Stemma ${version}, a ${store.name} store in a temporary directory.\n`)

// Creates a session, and claims the lease that lets this process write to it.
const session = newSession("Where is the config?")
const sessionID = session.id
await store.commit({ ops: [{ op: "session.create", session, segment: segment() }] })
const lease = await store.claim(sessionID)
const write = (...ops: Op[]) => store.commit({ ops, fences: { [sessionID]: lease.fence } })

// Appends two turns. The first answer calls a tool. A sealed message never changes.
const question = user()
await write({
  op: "message.append",
  sessionID,
  message: question,
  parts: [text("Where is the config? 配置文件在哪里？")],
  sealed: true,
})
await write({
  op: "message.append",
  sessionID,
  message: assistant(question),
  parts: [toolCall("glob", { pattern: "**/*.json" }, "biome.json\npackage.json"), text("In package.json.")],
  sealed: true,
})
const second = user()
await write(
  { op: "message.append", sessionID, message: second, parts: [text("Delete it.")], sealed: true },
  { op: "message.append", sessionID, message: assistant(second), parts: [text("Deleted.")], sealed: true },
)
await show("The session", sessionID)

// A fork shares the history of its source. New messages belong to the fork alone.
const fork = newSession("The same, but careful")
const other = user()
await store.commit({
  ops: [
    { op: "session.fork", sourceID: sessionID, messageID: second.id, session: fork, segment: segment() },
    { op: "message.append", sessionID: fork.id, message: other, parts: [text("Explain it.")], sealed: true },
  ],
})
await show("A fork, from before the third message", fork.id)

// A revert first marks a message, then moves the history back to it. The messages after it stay readable.
await store.commit({
  ops: [{ op: "session.patch", sessionID, set: { revert: { messageID: second.id } } }],
})
await write(
  { op: "history.move", sessionID, segment: segment(), messageID: second.id },
  { op: "message.append", sessionID, message: user(), parts: [text("Rename it, please.")], sealed: true },
)
await show("The session after a revert", sessionID)
const [tail] = (await store.session(sessionID)).history.left
console.log(`Left behind, still readable: ${tail!.count - tail!.keep} messages.\n`)

// Search covers all sessions, tool output included. Chinese text is found by any two characters.
for (const query of ["config", "package.json", "配置", "deleted"]) {
  const { hits } = await store.search({ text: query })
  console.log(`Search ${query}: ${hits.length} found`)
  for (const { kind, snippet, forks, left } of hits) {
    const where = [forks > 0 ? `shared with ${forks} more` : "", left ? "left behind" : ""].filter(Boolean)
    console.log(
      `  ${kind}: ${snippet.replaceAll("\n", " ")}${where.length > 0 ? ` (${where.join(", ")})` : ""}`,
    )
  }
}

await store.release(lease)
await store.close()
await rm(directory, { recursive: true })

async function show(what: string, id: string): Promise<void> {
  const { items } = await store.history(id)
  console.log(`${what}: ${items.length} messages\n${transcript(items)}\n`)
}
