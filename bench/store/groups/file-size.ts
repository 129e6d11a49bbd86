import { existsSync, statSync } from "node:fs"
import type { PartBody } from "../../../src/protocol/index.ts"
import { tokenize } from "../../../src/session/search/index.ts"
import type { Op } from "../../../src/stores/commit.ts"
import type { Bench, Scratch } from "../../bench.ts"
import {
  assistantMessage,
  finished,
  type Ids,
  makeIds,
  newSession,
  textPart,
  userMessage,
} from "../content.ts"
import { openStore, settle } from "../open-store.ts"
import { rawCopy } from "../raw.ts"
import { Run } from "../run.ts"
import { Vocabulary } from "../vocabulary.ts"

const turns = 200

interface Turn {
  prompt: string
  answer: string
}

/** The size of the file after 200 turns, with the search index, without the size of an empty file. */
export async function benchFiles(bench: Bench, scratch: Scratch): Promise<void> {
  const empty = statSync(await emptyStore(scratch)).size
  bench.add({ name: "empty file", value: empty / 1000, unit: "KB" })
  const words = (count: number) => (vocabulary: Vocabulary) => ({
    prompt: `${vocabulary.sentence(count)}.`,
    answer: vocabulary.prose(50),
  })
  for (const [name, make, options] of [
    ["200 turns of 10 + 50 words", words(10), { limitKB: 300 }],
    ["200 turns of 50 + 50 words", words(50), {}],
    ["200 turns of 10 + 50 words, with step parts", words(10), { steps: true }],
  ] as const) {
    const made = makeTurns(make)
    const bytes = (await storeSize(scratch, name, { made, ...options })) - empty
    const limit = "limitKB" in options ? { atMost: options.limitKB } : undefined
    const raw = await rawSize(scratch, name, made)
    bench.add({ name: `${name}, on disk`, value: bytes / 1000, raw: raw / 1000, unit: "KB", target: limit })
  }
  for (const [name, make, target] of [
    ["200 turns of 4 KB on average", aboutFourKilobytes, { atMost: 2.5 }],
    ["200 turns of exactly 4 KB", fourKilobytes, undefined],
  ] as const) {
    const made = makeTurns(make)
    const textBytes = made.reduce((sum, turn) => sum + Buffer.byteLength(turn.prompt + turn.answer), 0)
    const bytes = (await storeSize(scratch, name, { made })) - empty
    const raw = (await rawSize(scratch, name, made)) / textBytes
    bench.add({ name: `${name}, on disk`, value: bytes / textBytes, raw, unit: "x text", target })
  }
}

function makeTurns(make: (vocabulary: Vocabulary) => Turn): Turn[] {
  const vocabulary = new Vocabulary(14)
  return Array.from({ length: turns }, () => make(vocabulary))
}

/** Rows of one length may fit the database's pages very well or very badly, so the lengths vary. */
function aboutFourKilobytes(vocabulary: Vocabulary): Turn {
  return longTurn(vocabulary, 2048 + vocabulary.below(4096))
}

function fourKilobytes(vocabulary: Vocabulary): Turn {
  return longTurn(vocabulary, 4096)
}

function longTurn(vocabulary: Vocabulary, units: number): Turn {
  const prompt = vocabulary.prose(30)
  let answer = ""
  while (answer.length < units) answer += `${vocabulary.prose(60)}\n\n${vocabulary.code(4)}\n\n`
  return { prompt, answer: answer.slice(0, units - prompt.length) }
}

/** The path of an empty store. */
export async function emptyStore(scratch: Scratch): Promise<string> {
  const path = scratch.path("empty.db")
  if (existsSync(path)) return path
  const store = await openStore(path)
  await settle(store)
  await store.close()
  return path
}

interface Filling {
  made: Turn[]
  /** Each answer also has the parts that mark the start and the end of a step. */
  steps?: boolean
}

/** Closing empties the log, so that only the file is left. */
async function storeSize(scratch: Scratch, name: string, { made, steps = false }: Filling): Promise<number> {
  const path = scratch.path(`${name}.db`)
  const store = await openStore(path)
  const ids = makeIds(15)
  const session = newSession(ids)
  await store.commit({ ops: [{ op: "session.create", session, segment: ids.next("segment") }] })
  const run = await Run.claim(store, session.id)
  for (const turn of made) {
    await run.renewInTime()
    for (const ops of turnCommits(ids, session.id, { turn, steps })) await run.commit(...ops)
  }
  await settle(store)
  await store.close()
  return statSync(path).size
}

/** The commits of one turn as a run makes them: the prompt, the answer's growing text, the seal. */
function turnCommits(ids: Ids, sessionID: string, { turn, steps }: { turn: Turn; steps: boolean }): Op[][] {
  const prompt = userMessage(ids)
  const message = assistantMessage(ids, prompt.id)
  const part = textPart(ids, "")
  const target = { sessionID, messageID: message.id }
  const start: PartBody[] = steps ? [{ id: ids.next("part"), type: "step-start" }] : []
  const commits: Op[][] = [
    [
      { op: "message.append", sessionID, message: prompt, parts: [textPart(ids, turn.prompt)], sealed: true },
      { op: "message.append", sessionID, message, parts: [...start, part] },
    ],
  ]
  for (let offset = 0; offset < turn.answer.length; offset += 1000) {
    const text = turn.answer.slice(offset, offset + 1000)
    commits.push([{ op: "piece.add", ...target, partID: part.id, field: "text", offset, text }])
  }
  const sealed = finished(message)
  const finish: PartBody = {
    id: ids.next("part"),
    type: "step-finish",
    reason: "stop",
    cost: sealed.cost,
    tokens: sealed.tokens,
  }
  const last: Op[] = steps ? [{ op: "part.put", ...target, part: finish }] : []
  commits.push([...last, { op: "message.seal", ...target, message: sealed }])
  return commits
}

/** The texts alone in a plain table, with an FTS5 index of the same tokens. */
async function rawSize(scratch: Scratch, name: string, made: Turn[]): Promise<number> {
  const path = scratch.path(`raw ${name}.db`)
  using db = await rawCopy(await emptyStore(scratch), path)
  db.connection.exec(`CREATE TABLE plain (key INTEGER PRIMARY KEY, id BLOB, text TEXT);
    CREATE VIRTUAL TABLE plain_index USING fts5 (tokens, content = '', detail = none, columnsize = 0, tokenize = 'ascii')`)
  db.checkpoint()
  const empty = statSync(path).size
  const insert = db.prepare("INSERT INTO plain (id, text) VALUES (?, ?)")
  const index = db.prepare("INSERT INTO plain_index (rowid, tokens) VALUES (?, ?)")
  const id = new Uint8Array(16)
  db.transaction(() => {
    for (const text of made.flatMap((turn) => [turn.prompt, turn.answer])) {
      const { lastInsertRowid } = insert.run(id, text)
      index.run(lastInsertRowid, tokenize(text).join(" "))
    }
  })
  db.checkpoint()
  return statSync(path).size - empty
}
