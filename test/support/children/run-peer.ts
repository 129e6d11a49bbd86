/**
 * One of two processes that use the same session at the same time: it prompts, renames, aborts, and answers questions,
 * and prints what it did and saw to stdout. When its prompts are answered it waits for the message to finish, prints
 * the session as it sees it, and ends by itself.
 */
import { writeSync } from "node:fs"
import "@ai-sdk/openai-compatible"
import {
  type Session,
  type SessionHandle,
  type Stemma,
  StemmaError,
  type StemmaEvent,
} from "../../../src/index.ts"
import "../../../src/stores/sqlite/index.ts"
import { openShared, type SharedScene } from "../run/scene.ts"
import { randomFrom } from "../seed.ts"
import { dieWithParent } from "./lifeline.ts"

export interface PeerGo {
  scene: SharedScene
  sessionID: string
  name: "a" | "b"
  seed: number
  /** Its own prompts and those that both processes send, in its own order. */
  prompts: { messageID: string; text: string }[]
  /** The field that this process sets, and the other does not, as often as the title. */
  field: "maxHistory" | "budget"
  changes: number
  aborts: number
}

export type PeerLine = { atMs: number } & (
  | { event: StemmaEvent }
  | { reply: string; answerID: string; finish: string | undefined; text: string }
  | { set: string; field: number }
  | { aborted: true }
  | { permissionID: string; answered: "once" | "reject"; wasHolder: boolean }
  | { permissionID: string; tooLate: true }
  | { end: { session: Session; transcript: string } }
  | { failed: string }
)

const nowMs = () => Number(process.hrtime.bigint()) / 1e6
type Printed<T = PeerLine> = T extends PeerLine ? Omit<T, "atMs"> : never
const print = (line: Printed) => writeSync(1, `${JSON.stringify({ atMs: nowMs(), ...line })}\n`)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The process that runs the session leaves the question to the other process for a while. */
const patienceMs = 1500

async function work(go: PeerGo): Promise<void> {
  const random = randomFrom(go.seed)
  const stemma = await openShared(go.scene, { interactive: true, onWarning: fail })
  const session = await stemma.sessions.get(go.sessionID)
  const events = new AbortController()
  const answering = new Set<Promise<void>>()
  const listen = async () => {
    for await (const event of session.events({ signal: events.signal })) {
      print({ event })
      if (event.type === "permission.asked") {
        answering.add(answer(stemma, { session, id: event.properties.request.id, random }).catch(fail))
      }
    }
  }
  const listening = listen().catch(fail)
  await pause(200)
  await Promise.all([
    promptAll(session, go, random),
    changeAll(stemma, go, random),
    abortAll(session, go, random),
  ])
  const finish = new Promise((resolve) => process.once("message", resolve))
  process.send!("answered")
  await finish
  await Promise.all(answering)
  // The last changes of the other process arrive too.
  await pause(300)
  print({ end: { session: await session.info(), transcript: await session.transcript() } })
  await stemma.close()
  events.abort()
  await listening
}

/** Sends a few prompts at a time, so that the session becomes idle now and then and either process may run it next. */
async function promptAll(session: SessionHandle, go: PeerGo, random: () => number): Promise<void> {
  const ask = async ({ messageID, text }: PeerGo["prompts"][number]) => {
    const reply = await session.prompt(text, { messageID, delivery: "queue" })
    const { id, finish } = reply.message
    print({ reply: messageID, answerID: id, finish, text: reply.text })
  }
  for (let from = 0; from < go.prompts.length; from += 3) {
    const replies: Promise<void>[] = []
    for (const prompt of go.prompts.slice(from, from + 3)) {
      await pause(random() * 200)
      replies.push(ask(prompt).catch(fail))
    }
    await Promise.all(replies)
  }
}

async function changeAll(stemma: Stemma, go: PeerGo, random: () => number): Promise<void> {
  for (let count = 1; count <= go.changes; count++) {
    await pause(random() * 400)
    const title = `${go.name} ${count}`
    const field = 1000 - count
    await stemma.sessions.update(go.sessionID, { title, [go.field]: field })
    print({ set: title, field })
  }
}

async function abortAll(session: SessionHandle, go: PeerGo, random: () => number): Promise<void> {
  for (let count = 0; count < go.aborts; count++) {
    await pause(300 + random() * 600)
    await session.abort(`${go.name} has had enough`)
    print({ aborted: true })
  }
}

async function answer(
  stemma: Stemma,
  { session, id, random }: { session: SessionHandle; id: string; random: () => number },
): Promise<void> {
  const wasHolder = stemma.status(session.id).type !== "idle"
  const isNo = random() < 0.3
  await pause(wasHolder ? patienceMs : random() * 20)
  try {
    const reply = isNo ? { reply: "reject" as const, feedback: "not now" } : { reply: "once" as const }
    await stemma.permissions.reply(session.id, id, reply)
    print({ permissionID: id, answered: reply.reply, wasHolder })
  } catch (error) {
    if (!StemmaError.is(error, "conflict")) throw error
    print({ permissionID: id, tooLate: true })
  }
}

function fail(error: unknown): void {
  print({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}

process.on("unhandledRejection", fail)
dieWithParent()
process.once("message", (go: PeerGo) => {
  work(go)
    .catch(fail)
    .finally(() => process.disconnect())
})
process.send!("ready")
