import { existsSync, statSync } from "node:fs"
import { readFile } from "node:fs/promises"
import type { Store } from "../../../src/stores/store.ts"
import { type Bench, type Scratch, scratchDirectory } from "../../bench.ts"
import { sleep } from "../../measure.ts"
import { assistantMessage, finished, type Ids, makeIds, textPart, userMessage } from "../content.ts"
import { openAnswer } from "../history.ts"
import { openStore, settle } from "../open-store.ts"
import { rawCopy } from "../raw.ts"
import { Run } from "../run.ts"
import { Vocabulary } from "../vocabulary.ts"
import { benchFiles, emptyStore } from "./file-size.ts"

const answerUnits = 512 * 1024
const flushMs = 50

/** The bytes that are written and the bytes that stay on disk, beside the text itself. */
export async function benchDisk(bench: Bench): Promise<void> {
  await using scratch = await scratchDirectory()
  if (existsSync("/proc/self/io")) await benchWritten(bench, scratch)
  else bench.progress("cannot count the bytes written: there is no /proc/self/io")
  await benchFiles(bench, scratch)
  await benchLog(bench, scratch)
}

/** The bytes that are written for a long answer, whose text grows by pieces of several sizes. */
async function benchWritten(bench: Bench, scratch: Scratch): Promise<void> {
  const text = longText(answerUnits)
  const textBytes = Buffer.byteLength(text)
  const paced = Math.ceil(answerUnits / 100)
  for (const [pieceUnits, name] of [
    [paced, "5.2 KB"],
    [16 * 1024, "16 KiB"],
    [1024, "1 KiB"],
  ] as const) {
    bench.progress(`streams 512 KB in pieces of ${name}`)
    // Only the first size has a target, so only it keeps to the pace of a run.
    const pauseMs = pieceUnits === paced && !bench.quick ? flushMs : 0
    const stream = { text, pieceUnits, pauseMs }
    const own = await streamAnswer(scratch.path(`${pieceUnits}.db`), { ...stream, indexed: true })
    const raw = await streamRaw(scratch, { text, pieceUnits })
    bench.add({
      name: `512 KB in pieces of ${name}, bytes written`,
      value: own / textBytes,
      raw: raw / textBytes,
      unit: "x text",
      target: pieceUnits === paced ? { atMost: 4 } : undefined,
    })
    if (pieceUnits !== paced) continue
    const bare = await streamAnswer(scratch.path("unindexed.db"), { ...stream, pauseMs: 0, indexed: false })
    bench.add({
      name: `512 KB in pieces of ${name}, without the index`,
      value: bare / textBytes,
      unit: "x text",
    })
  }
}

function longText(units: number): string {
  const vocabulary = new Vocabulary(11)
  let text = ""
  while (text.length < units) text += `${vocabulary.prose(80)}\n\n`
  return text.slice(0, units)
}

/** All bytes that this process has written, by any thread. */
async function bytesWritten(): Promise<number> {
  const io = await readFile("/proc/self/io", "utf8")
  return Number(/^wchar: (\d+)$/m.exec(io)?.[1])
}

interface Streaming {
  text: string
  pieceUnits: number
  pauseMs: number
  /** Counts until the text is indexed; otherwise until the message is sealed and the log is emptied. */
  indexed: boolean
}

/** The bytes that an answer costs from its first piece until it is in the database file. */
async function streamAnswer(
  path: string,
  { text, pieceUnits, pauseMs, indexed }: Streaming,
): Promise<number> {
  const ids = makeIds(12)
  const idle = await idleBytes()
  const store = await openStore(path)
  const { sessionID, message, partID } = await openAnswer(store, ids)
  await settle(store)
  const run = await Run.claim(store, sessionID)
  const target = { sessionID, messageID: message.id }
  const start = performance.now()
  const before = await bytesWritten()
  for (let offset = 0; offset < text.length; offset += pieceUnits) {
    await run.renewInTime()
    const piece = text.slice(offset, offset + pieceUnits)
    await run.commit({ op: "piece.add", ...target, partID, field: "text", offset, text: piece })
    if (pauseMs > 0) await sleep(pauseMs)
  }
  await run.commit({ op: "message.seal", ...target, message: finished(message) })
  // The last connection empties the log into the database when it closes.
  if (indexed) await settle(store)
  await store.close()
  const noise = ((performance.now() - start) / 1000) * idle
  return (await bytesWritten()) - before - noise
}

/** What the process writes in a second when nothing happens. */
async function idleBytes(): Promise<number> {
  const before = await bytesWritten()
  await sleep(500)
  return ((await bytesWritten()) - before) * 2
}

/** The same pieces as plain rows, joined into one row at the end. */
async function streamRaw(
  scratch: Scratch,
  { text, pieceUnits }: { text: string; pieceUnits: number },
): Promise<number> {
  using db = await rawCopy(await emptyStore(scratch), scratch.path(`raw-${pieceUnits}.db`))
  db.connection.exec(
    "CREATE TABLE plain (key INTEGER PRIMARY KEY, text TEXT); CREATE TABLE growing (key INTEGER PRIMARY KEY, text TEXT)",
  )
  db.checkpoint()
  const insert = db.prepare("INSERT INTO growing (text) VALUES (?)")
  const part = db.prepare("INSERT INTO plain (text) VALUES (?)")
  const before = await bytesWritten()
  for (let offset = 0; offset < text.length; offset += pieceUnits) {
    db.transaction(() => insert.run(text.slice(offset, offset + pieceUnits)))
  }
  db.transaction(() => {
    part.run(text)
    db.connection.exec("DELETE FROM growing")
  })
  db.checkpoint()
  return (await bytesWritten()) - before
}

/** The log's largest size while several sessions write as fast as they can. */
async function benchLog(bench: Bench, scratch: Scratch): Promise<void> {
  const seconds = bench.quick ? 2 : 8
  for (const [name, pieceUnits, writers] of [
    ["small commits", 100, 1],
    ["pieces of 16 KiB, 8 sessions", 16 * 1024, 8],
  ] as const) {
    const path = scratch.path(`log-${pieceUnits}.db`)
    await using store = await openStore(path)
    const ids = makeIds(13 + writers)
    const text = longText(pieceUnits)
    const end = performance.now() + seconds * 1000
    let largest = 0
    let commits = 0
    const onCommit = () => {
      commits += 1
      largest = Math.max(largest, statSync(`${path}-wal`).size)
    }
    await Promise.all(Array.from({ length: writers }, () => writeUntil(store, { ids, text, end, onCommit })))
    bench.add({
      name: `log at full speed, ${name}`,
      value: largest / 1024 / 1024,
      unit: "MB",
      target: { under: 8 },
    })
    bench.add({ name: `log at full speed, ${name}, commits`, value: commits / seconds, unit: "/s" })
  }
}

interface Writing {
  ids: Ids
  text: string
  end: number
  onCommit: () => void
}

/** Answers of 20 pieces, each sealed and followed by the next, one commit after the other. */
async function writeUntil(store: Store, { ids, text, end, onCommit }: Writing): Promise<void> {
  const { sessionID, ...first } = await openAnswer(store, ids)
  const run = await Run.claim(store, sessionID)
  let { message, partID } = first
  for (let number = 0; performance.now() < end; number++) {
    await run.renewInTime()
    if (number % 20 === 19) {
      const prompt = userMessage(ids)
      const next = assistantMessage(ids, prompt.id)
      const part = textPart(ids, "")
      await run.commit(
        { op: "message.seal", sessionID, messageID: message.id, message: finished(message) },
        { op: "message.append", sessionID, message: prompt, parts: [textPart(ids, "Go on.")], sealed: true },
        { op: "message.append", sessionID, message: next, parts: [part] },
      )
      message = next
      partID = part.id
    } else {
      const offset = (number % 20) * text.length
      await run.commit({
        op: "piece.add",
        sessionID,
        messageID: message.id,
        partID,
        field: "text",
        offset,
        text,
      })
    }
    onCommit()
  }
}
