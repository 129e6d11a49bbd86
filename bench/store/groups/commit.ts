import type { Store } from "../../../src/stores/store.ts"
import { type Bench, scratchDirectory } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import { type Ids, makeIds, type textPart } from "../content.ts"
import { type OpenAnswer, openAnswer } from "../history.ts"
import { openStore } from "../open-store.ts"
import { type RawDatabase, rawCopy } from "../raw.ts"
import { Run } from "../run.ts"
import { benchStreaming } from "./streaming.ts"

const sessions = 20
const sentence = "The lease of this session is held by another process, which is alive"

/** A small commit beside the bare transaction with the same rows, and many sessions that stream at the same time. */
export async function benchCommit(bench: Bench): Promise<void> {
  await using scratch = await scratchDirectory()
  const ids = makeIds(1)
  const path = scratch.path("store.db")
  const answers: OpenAnswer[] = []
  {
    await using store = await openStore(path)
    for (let i = 0; i < sessions; i++) answers.push(await openAnswer(store, ids))
  }
  using raw = await rawCopy(path, scratch.path("raw.db"))
  await using store = await openStore(path)
  await benchSmallCommits(bench, { store, raw, ids, answers })
  await benchStreaming(bench, scratch)
}

interface Setting {
  store: Store
  raw: RawDatabase
  ids: Ids
  answers: OpenAnswer[]
}

async function benchSmallCommits(bench: Bench, { store, raw, ids, answers }: Setting): Promise<void> {
  const runs = await Promise.all(answers.map((answer) => Run.claim(store, answer.sessionID)))
  const bare = rawCommits(raw)
  const at = (index: number) => ({ run: runs[index % sessions]!, answer: answers[index % sessions]! })
  const put = (index: number, part: ReturnType<typeof textPart>) => {
    const { run, answer } = at(index)
    return run.commit({ op: "part.put", sessionID: run.sessionID, messageID: answer.message.id, part })
  }
  const piece = async (index: number, offset: number) => {
    const { run, answer } = at(index)
    await run.commit({
      op: "piece.add",
      sessionID: run.sessionID,
      messageID: answer.message.id,
      partID: answer.partID,
      field: "text",
      offset,
      text: sentence,
    })
  }
  const grown = answers.map(() => 0)
  const reset = async () => {
    for (const [index, run] of runs.entries()) {
      await run.renewInTime()
      const { message, partID } = answers[index]!
      // Every batch begins with the same rows, and with a tail that the store has in memory.
      await run.commit(
        { op: "part.truncate", sessionID: run.sessionID, messageID: message.id, keep: 1 },
        {
          op: "part.put",
          sessionID: run.sessionID,
          messageID: message.id,
          part: { id: partID, type: "text", text: "" },
        },
      )
      grown[index] = 0
    }
    bare.reset()
    raw.checkpoint()
  }
  const fresh = Array.from({ length: 50_000 }, () => ids.next("part"))
  const rounds = bench.quick ? 10 : 40
  const batch = 400
  const timings = await interleave(
    {
      insert: (index) => put(index, { id: fresh[index]!, type: "text", text: `${sentence} ${index}` }),
      rawInsert: (index) => bare.insertPart(index),
      replace: (index) =>
        put(index, { id: answers[index % sessions]!.partID, type: "text", text: `${sentence} ${index}` }),
      rawReplace: (index) => bare.replacePart(index),
      piece: async (index) => {
        const offset = grown[index % sessions]!
        grown[index % sessions] = offset + sentence.length
        await piece(index, offset)
      },
      rawPiece: (index) => bare.addPiece(index),
    },
    { rounds, batch, between: reset },
  )
  const us = (ms: number) => ms * 1000
  for (const [name, own, other] of [
    ["one new part", timings.insert, timings.rawInsert],
    ["one part replaced", timings.replace, timings.rawReplace],
  ] as const) {
    bench.add({
      name,
      value: us(own.medianMs),
      raw: us(other.medianMs),
      unit: "us",
      target: { timesRawAtMost: 1.5 },
    })
  }
  bench.add({
    name: "one piece",
    value: us(timings.piece.medianMs),
    raw: us(timings.rawPiece.medianMs),
    unit: "us",
  })
  bench.add({
    name: "one new part, p99",
    value: us(timings.insert.p99Ms),
    raw: us(timings.rawInsert.p99Ms),
    unit: "us",
  })
}

/** The rows that the store reads and writes for the same commits, each in its own transaction. */
function rawCommits(db: RawDatabase) {
  const rows = db
    .prepare(
      `SELECT s.key, s.segment, s.count - 1, p.key FROM sessions s
         JOIN parts p ON p.segment = s.segment AND p.position = s.count - 1 ORDER BY s.key`,
    )
    .all() as unknown as [number, number, number, number][]
  const tip = db.prepare("SELECT seq, fence, expires FROM tips WHERE session = ?")
  const newest = db.prepare("SELECT max(version) FROM tips")
  const insert = db.prepare(
    "INSERT INTO parts (segment, position, place, id, version, kind, data) VALUES (?, ?, ?, ?, ?, 0, ?)",
  )
  const update = db.prepare("UPDATE parts SET version = ?, kind = ?, data = ? WHERE key = ?")
  const addPiece = db.prepare("INSERT INTO pieces (key, place, version, offset, text) VALUES (?, 0, ?, ?, ?)")
  const touch = db.prepare("UPDATE tips SET seq = ?, version = ? WHERE session = ?")
  const id = new Uint8Array(16)
  const parts = rows.map(() => 1)
  const write = (index: number, body: (place: (typeof rows)[number], version: number) => void) =>
    db.transaction(() => {
      const place = rows[index % rows.length]!
      const [seq] = tip.get(place[0]) as unknown as [number]
      const version = (newest.get() as unknown as [number])[0] + 1
      body(place, version)
      touch.run(seq + 1, version, place[0])
    })
  return {
    insertPart: (index: number) =>
      write(index, ([, segment, position], version) => {
        const place = parts[index % rows.length]!++
        insert.run(segment, position, place, id, version, JSON.stringify([`${sentence} ${index}`]))
      }),
    replacePart: (index: number) =>
      write(index, ([, , , key], version) => {
        update.run(version, 0, JSON.stringify([`${sentence} ${index}`]), key)
      }),
    addPiece: (index: number) =>
      write(index, ([, segment], version) => {
        const number = parts[index % rows.length]!++
        addPiece.run(segment * 2 ** 22 + number, version, number * sentence.length, sentence)
      }),
    reset() {
      db.connection.exec("DELETE FROM parts WHERE place > 0; DELETE FROM pieces")
      parts.fill(1)
    },
  }
}
