/** One of several processes that write to one file, each its own session; with "raw" the same rows without a store. */

import { sleep, watchLoop } from "../../measure.ts"
import { answerParent } from "../child.ts"
import { assistantMessage, finished, makeIds, textPart, userMessage } from "../content.ts"
import { openAnswer } from "../history.ts"
import { openStore, settle } from "../open-store.ts"
import { RawDatabase } from "../raw.ts"
import { Run } from "../run.ts"

export interface WriteAnswer {
  latenciesMs: number[]
  /** The longest delay of the event loop. */
  stopMs: number
}

/** Commits of an answer before it is sealed and the next one begins. */
const piecesPerAnswer = 18
const text = "and a few more words of the answer "

const [path, way, seed, everyMs] = process.argv.slice(2) as [string, string, string, string]
if (way === "raw") await writeRaw()
else await writeStore()

async function writeStore(): Promise<void> {
  const ids = makeIds(Number(seed))
  await using store = await openStore(path)
  const { sessionID, ...first } = await openAnswer(store, ids)
  const run = await Run.claim(store, sessionID)
  let { message, partID } = first
  let number = 0
  const next = async (): Promise<void> => {
    const target = { sessionID, messageID: message.id }
    const at = number++ % (piecesPerAnswer + 2)
    if (at < piecesPerAnswer) {
      await run.commit({ op: "piece.add", ...target, partID, field: "text", offset: at * text.length, text })
    } else if (at === piecesPerAnswer) {
      await run.commit({ op: "part.put", ...target, part: textPart(ids, text) })
    } else {
      const prompt = userMessage(ids)
      const answer = assistantMessage(ids, prompt.id)
      const part = textPart(ids, "")
      const sealed = finished(message)
      message = answer
      partID = part.id
      await run.commit(
        { op: "message.seal", ...target, message: sealed },
        { op: "message.append", sessionID, message: prompt, parts: [textPart(ids, "Go on.")], sealed: true },
        { op: "message.append", sessionID, message: answer, parts: [part] },
      )
    }
  }
  await warmUp(next)
  await settle(store)
  await answerParent((seconds) => write(next, { seconds, renew: () => run.renewInTime() }))
}

/** What a program without a store would do: wait for the lock in the transaction. */
async function writeRaw(): Promise<void> {
  using db = new RawDatabase(path, { busyTimeoutMs: 10_000 })
  const tip = db.prepare("SELECT seq, fence, expires FROM tips WHERE session = ?")
  const newest = db.prepare("SELECT max(version) FROM tips")
  const insert = db.prepare("INSERT INTO pieces (key, place, version, offset, text) VALUES (?, 0, ?, ?, ?)")
  const touch = db.prepare("UPDATE tips SET seq = ?, version = ? WHERE session = ?")
  const session = Number(seed)
  db.transaction(() => {
    db.prepare("INSERT INTO tips (session, seq, version) VALUES (?, 0, 0)").run(session)
  })
  let number = 0
  const next = async (): Promise<void> => {
    db.transaction(() => {
      const [seq] = tip.get(session) as unknown as [number]
      const version = (newest.get() as unknown as [number])[0] + 1
      insert.run(session * 2 ** 22 + number, version, number * text.length, text)
      number += 1
      touch.run(seq + 1, version, session)
    })
    // A program that does nothing else would not return to its event loop.
    await new Promise((resolve) => setImmediate(resolve))
  }
  await warmUp(next)
  await answerParent((seconds) => write(next, { seconds, renew: async () => {} }))
}

async function warmUp(next: () => Promise<void>): Promise<void> {
  for (let i = 0; i < 5 * (piecesPerAnswer + 2); i++) await next()
}

interface Writing {
  seconds: number
  renew(): Promise<unknown>
}

/**
 * At full speed, each commit waits for the previous one; at a pace, each begins at its time, independent of the others.
 */
async function write(next: () => Promise<void>, { seconds, renew }: Writing): Promise<WriteAnswer> {
  const latenciesMs: number[] = []
  const stop = watchLoop()
  const end = performance.now() + seconds * 1000
  const timed = async (): Promise<void> => {
    const start = performance.now()
    await next()
    latenciesMs.push(performance.now() - start)
  }
  if (everyMs === "0") {
    while (performance.now() < end) {
      await renew()
      await timed()
    }
  } else {
    const pending: Promise<void>[] = []
    let dueMs = performance.now() + Math.random() * Number(everyMs)
    while (dueMs < end) {
      await sleep(Math.max(0, dueMs - performance.now()))
      await renew()
      pending.push(timed())
      dueMs += Number(everyMs)
    }
    await Promise.all(pending)
  }
  return { latenciesMs, stopMs: stop() }
}
