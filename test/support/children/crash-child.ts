/**
 * Commits in a loop until it is killed. Prints each commit before it starts and, right after the store has answered,
 * that it is done. Started by `crash-lane.ts`; waits for a message that names the directory.
 */
import { writeSync } from "node:fs"
import { flushCompileCache } from "node:module"
import type { InboxItem } from "../../../src/protocol/index.ts"
import type { Commit, Op } from "../../../src/stores/commit.ts"
import type { Store } from "../../../src/stores/store.ts"
import { driverNamed } from "../drivers.ts"
import { plainId } from "../ids.ts"
import { sampleAssistant, sampleUser } from "../samples.ts"
import { randomFrom } from "../seed.ts"
import { dieWithParent } from "./lifeline.ts"

export interface CrashGo {
  directory: string
  /** A prefix that separates the ids of this child from those of the others. */
  number: number
  seed: number
}

/** A line of the child's output. */
export type CrashLine =
  | { about: number; commit: Commit }
  | { about: number; admit: InboxItem }
  | { done: number }
  | { failed: string }

const messagesMax = 24

async function work(go: CrashGo, name: string): Promise<void> {
  const store = await driverNamed(name).open(go.directory)
  const random = randomFrom(go.seed)
  let count = 0
  const id = (kind: "session" | "message" | "part" | "segment") => plainId(kind, count++, go.number)
  const text = () => `said ${count} by ${go.number} 配置 ${"x".repeat(Math.floor(random() * 400))}`
  const nowMs = () => 1_700_000_000_000 + go.number * 1_000_000 + count

  let calls = 0
  async function reported(call: { commit: Commit } | { admit: InboxItem }): Promise<void> {
    const about = calls++
    print({ about, ...call })
    if ("commit" in call) await store.commit(call.commit)
    else await store.admit(call.admit)
    print({ done: about })
  }
  const commit = (ops: Op[], fences: Record<string, number> = {}) => reported({ commit: { ops, fences } })
  const say = (sessionID: string): Op => {
    const part = { id: id("part"), type: "text" as const, text: text() }
    return {
      op: "message.append",
      sessionID,
      message: sampleUser(id("message"), nowMs()),
      parts: [part],
      sealed: true,
    }
  }

  /** One assistant message, piece by piece. */
  async function answer(sessionID: string, parentID: string, fences: Record<string, number>): Promise<void> {
    const message = sampleAssistant(id("message"), parentID, nowMs())
    const partID = id("part")
    const parts = [{ id: partID, type: "text" as const, text: "" }]
    await commit([{ op: "message.append", sessionID, message, parts }], fences)
    let offset = 0
    for (let i = 0; i < 3; i++) {
      const piece = text()
      await commit(
        [{ op: "piece.add", sessionID, messageID: message.id, partID, field: "text", offset, text: piece }],
        fences,
      )
      offset += piece.length
      await pause(random)
    }
    await commit([{ op: "message.seal", sessionID, messageID: message.id }], fences)
  }

  async function takePrompt(sessionID: string, fences: Record<string, number>): Promise<void> {
    const message = sampleUser(id("message"), nowMs())
    const parts = [{ id: id("part"), type: "text" as const, text: text() }]
    const item = {
      id: message.id,
      sessionID,
      time: nowMs(),
      type: "prompt" as const,
      delivery: "queue" as const,
      message,
      parts,
    }
    await reported({ admit: item })
    const take: Op = { op: "inbox.take", sessionID, itemID: item.id }
    await commit([take, { op: "message.append", sessionID, message, parts, sealed: true }], fences)
  }

  let { sessionID, fence } = await continueOrCreate(store)
  for (;;) {
    const fences = { [sessionID]: fence }
    const { count: length, items } = await store.history(sessionID, { limit: 1 })
    const last = items[0]?.message.id
    if (length >= messagesMax || last === undefined) {
      await store.release({ sessionID, fence, expiresAt: 0, durationMs: 0 })
      ;({ sessionID, fence } = await create())
      continue
    }
    const what = random()
    if (what < 0.35) await answer(sessionID, last, fences)
    else if (what < 0.5) await takePrompt(sessionID, fences)
    else if (what < 0.6) await fork(sessionID)
    else if (what < 0.65) await move(sessionID, fences)
    else if (what < 0.8) {
      // Two commits in one tick share a transaction, and each is stored completely or not at all.
      const session = {
        id: id("session"),
        projectID: "one",
        directory: "/project",
        title: text(),
        version: "0",
        time: { created: nowMs(), updated: nowMs() },
      }
      await Promise.all([
        commit([say(sessionID)], fences),
        commit([{ op: "session.create", session, segment: id("segment") }, say(session.id)]),
      ])
    } else await commit([say(sessionID)], fences)
    await pause(random)
  }

  /** Continues the session of the previous, killed child, or creates one. */
  async function continueOrCreate(store: Store): Promise<{ sessionID: string; fence: number }> {
    const { items } = await store.sessions({ limit: 1 })
    const session = items[0]
    if (!session || session.history.count === 0) return create()
    const lease = await store.claim(session.id)
    const { items: messages } = await store.history(session.id, { limit: 1 })
    const last = messages[0]
    if (last && !last.sealed) {
      await commit([{ op: "message.seal", sessionID: session.id, messageID: last.message.id }], {
        [session.id]: lease.fence,
      })
    }
    return { sessionID: session.id, fence: lease.fence }
  }

  async function create(): Promise<{ sessionID: string; fence: number }> {
    const session = {
      id: id("session"),
      projectID: "one",
      directory: "/project",
      title: text(),
      version: "0",
      time: { created: nowMs(), updated: nowMs() },
    }
    await commit([{ op: "session.create", session, segment: id("segment") }, say(session.id)])
    const { fence } = await store.claim(session.id)
    return { sessionID: session.id, fence }
  }

  async function fork(sourceID: string): Promise<void> {
    const session = {
      id: id("session"),
      title: text(),
      version: "0",
      time: { created: nowMs(), updated: nowMs() },
    }
    await commit([{ op: "session.fork", sourceID, session, segment: id("segment") }])
  }

  async function move(sessionID: string, fences: Record<string, number>): Promise<void> {
    const { items } = await store.history(sessionID, { limit: 3 })
    const messageID = items[0]!.message.id
    await commit([{ op: "history.move", sessionID, segment: id("segment"), messageID }], fences)
    await commit([say(sessionID)], fences)
  }
}

function pause(random: () => number): Promise<void> {
  return new Promise((resolve) => {
    if (random() < 0.5) setTimeout(resolve, 1)
    else setImmediate(resolve)
  })
}

function print(line: CrashLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

const name = process.argv[2]!
dieWithParent()
await driverNamed(name).load()
// A killed process writes no compile cache. Writing it here makes the next processes start faster.
flushCompileCache()
process.once("message", (go: CrashGo) => {
  work(go, name).catch((error: unknown) => {
    print({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    process.exit(1)
  })
})
process.send!("ready")
