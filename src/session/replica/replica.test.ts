import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { HistoryItem, Message, Part, Row } from "../../protocol/index.ts"
import { assistant, completed, pending, running, session, sessionID, text, tool, user } from "../samples.ts"
import { growingField, grownText, withGrownText } from "./grow.ts"
import { reduceDelta, reducePage, reduceRow } from "./reduce.ts"
import { emptyView, missing, type SessionView, viewCount, viewMessages } from "./view.ts"

interface StoredPart {
  part: Part
  version: number
  pieces: { offset: number; text: string; version: number }[]
}

interface StoredMessage {
  message: Message
  version: number
  sealed: boolean
  parts: StoredPart[]
}

interface StoredNote {
  position: number
  key: string
  value: unknown
  version: number
  /** How many messages the history had when the row was written. */
  at: number
}

/** A minimal store of one session: the reference for what `changes` and `history` of a real store return. */
class PlainStore {
  version = 0
  epoch = 0
  sessionVersion = 0
  messages: StoredMessage[] = []
  notes: StoredNote[] = []
  moves: { version: number; keep: number }[] = []
  #ids = 0

  /** Does one commit. A random draw that fits no action is an empty commit. */
  commit({ op, number, word }: Draw): void {
    this.version++
    const open = this.messages.findLast((message) => !message.sealed)
    const part = open?.parts[number % Math.max(1, open.parts.length)]
    if (op === "append" && !open) this.#append(number, word)
    if (op === "part" && open) this.#put(open, number, word)
    if (op === "piece" && part) this.#grow(part, word)
    if (op === "part and piece" && open) {
      this.#put(open, number, word)
      for (const each of open.parts) if (each.version === this.version) this.#grow(each, "xy")
    }
    if (op === "keep" && part && growingField(part.part)) this.#keep(part)
    if (op === "settle" && part) this.#settle(part, word)
    if (op === "cut" && open) {
      open.parts.length = Math.min(open.parts.length, number % 4)
      open.version = this.version
    }
    if (op === "seal" && open) this.#seal(open)
    if (op === "note") this.#note(number, word)
    if (op === "move" && !open && this.messages.length > 0) this.#move(number % this.messages.length, word)
    if (op === "redact" && !open && this.messages.length > 0) this.#redact(number % this.messages.length)
  }

  #append(number: number, word: string): void {
    const id = `msg_${++this.#ids}`
    const isUser = number % 2 === 0
    const parts = isUser ? [this.#stored(text(`prt_${++this.#ids}`, word))] : []
    this.messages.push({
      message: isUser ? user(id) : assistant(id),
      version: this.version,
      sealed: isUser,
      parts,
    })
    this.sessionVersion = this.version
  }

  #stored(part: Part): StoredPart {
    return { part, version: this.version, pieces: [] }
  }

  #put(open: StoredMessage, number: number, word: string): void {
    const known = open.parts[number % 5]
    const id = known?.part.id ?? `prt_${++this.#ids}`
    const kinds = [
      text(id, ""),
      text(id, word),
      tool(id, pending),
      tool(id, running),
      tool(id, completed(word)),
    ]
    const part = kinds[number % kinds.length]!
    if (known) Object.assign(known, this.#stored(part))
    else open.parts.push(this.#stored(part))
  }

  #grow(part: StoredPart, word: string): void {
    if (growingField(part.part) === undefined || word === "") return
    part.pieces.push({ offset: grown(part).length, text: word, version: this.version })
  }

  #keep(part: StoredPart): void {
    part.version = this.version
    part.part = { ...part.part, metadata: { at: this.version } } as Part
    for (const piece of part.pieces) piece.version = this.version
  }

  #settle(part: StoredPart, word: string): void {
    if (part.part.type === "tool") Object.assign(part, this.#stored(tool(part.part.id, completed(word))))
  }

  #seal(open: StoredMessage): void {
    for (const part of open.parts) {
      this.#settleOpen(part)
      const last = part.pieces.at(-1)
      if (last) Object.assign(part, { part: grownPart(part), version: last.version, pieces: [] })
    }
    open.sealed = true
    open.version = this.version
    this.sessionVersion = this.version
  }

  #settleOpen(part: StoredPart): void {
    if (part.part.type === "tool" && growingField(part.part)) this.#settle(part, "stopped")
  }

  #note(number: number, word: string): void {
    const position = number % Math.max(1, this.messages.length)
    if (!this.messages[position]?.sealed) return
    const value = word === "" ? null : word
    const at = this.messages.length
    this.notes.push({ position, key: number % 3 === 0 ? "one" : "two", value, version: this.version, at })
  }

  #move(keep: number, word: string): void {
    const lost = this.notes.filter((note) => note.at > keep)
    this.moves.push({ version: this.version, keep: Math.min(keep, ...lost.map((note) => note.position)) })
    this.messages.length = keep
    this.notes = this.notes.filter((note) => note.at <= keep)
    this.epoch++
    this.sessionVersion = this.version
    if (word === "") return
    const parts = [this.#stored(text(`prt_${++this.#ids}`, word))]
    this.messages.push({ message: user(`msg_${++this.#ids}`), version: this.version, sealed: true, parts })
  }

  #redact(position: number): void {
    const message = this.messages[position]!
    message.parts = message.parts.map((part) => ({ ...part, part: text(part.part.id, "[redacted]") }))
    this.notes = this.notes.filter((note) => note.position !== position)
    this.moves.push({ version: this.version, keep: position })
    this.epoch++
    this.sessionVersion = this.version
  }

  #newestNotes(): StoredNote[] {
    return [...new Map(this.notes.map((note) => [`${note.position} ${note.key}`, note])).values()]
  }

  items(from = 0, to = this.messages.length): HistoryItem[] {
    return this.messages.slice(from, to).map(({ message, version, sealed, parts }, at) => {
      const position = Math.max(0, from) + at
      const versions = parts.flatMap((part) => [part.version, ...part.pieces.map((piece) => piece.version)])
      const said = this.#newestNotes().filter((note) => note.position === position && note.value !== null)
      const notes = Object.fromEntries(said.map((note) => [note.key, note.value]))
      return {
        position,
        version: Math.max(version, ...versions),
        sealed,
        message,
        parts: parts.map((part) => ({ ...grownPart(part), messageID: message.id })),
        ...(said.length > 0 && { notes }),
      }
    })
  }

  page(from: number, to: number) {
    return structuredClone({ items: this.items(from, to), count: this.messages.length, epoch: this.epoch })
  }

  /**
   * Rows after `since`, up to and including the first `limit` versions. The history row covers all moves among them.
   */
  changes(since: number, limit = Number.POSITIVE_INFINITY): { rows: Row[]; cursor: number } {
    const rows = this.#rows().filter((row) => row.version > since)
    const versions = [...rows, ...this.moves].map((row) => row.version).filter((version) => version > since)
    const last =
      [...new Set(versions)]
        .sort((a, b) => a - b)
        .slice(0, limit)
        .at(-1) ?? since
    const cursor = limit === Number.POSITIVE_INFINITY ? this.version : last
    const moves = this.moves.filter((move) => move.version > since && move.version <= cursor)
    if (moves.length > 0) {
      const keep = Math.min(...moves.map((move) => move.keep))
      const { version } = moves.at(-1)!
      rows.push({ type: "history", version, sessionID, epoch: this.epoch, keep })
    }
    const order = ["session", "history", "message", "part", "piece", "note"]
    const chosen = rows
      .filter((row) => row.version <= cursor)
      .sort((a, b) => a.version - b.version || order.indexOf(a.type) - order.indexOf(b.type))
    return { rows: structuredClone(chosen), cursor }
  }

  #rows(): Row[] {
    const history = { count: this.messages.length, epoch: this.epoch }
    const rows: Row[] = [
      { type: "session", version: this.sessionVersion, sessionID, session: session(history) },
    ]
    for (const [position, stored] of this.messages.entries()) rows.push(...messageRows(stored, position))
    for (const note of this.#newestNotes()) {
      const { at: _, ...row } = note
      rows.push({ type: "note", sessionID, messageID: this.messages[note.position]!.message.id, ...row })
    }
    return rows
  }
}

function messageRows({ message, version, sealed, parts }: StoredMessage, position: number): Row[] {
  const rows: Row[] = [
    { type: "message", version, sessionID, position, sealed, parts: parts.length, message },
  ]
  for (const [index, stored] of parts.entries()) {
    const part = { ...stored.part, messageID: message.id }
    rows.push({ type: "part", version: stored.version, sessionID, position, index, part })
    const place = { sessionID, position, index, messageID: message.id, partID: part.id }
    for (const piece of stored.pieces)
      rows.push({ type: "piece", ...place, field: growingField(part)!, ...piece })
  }
  return rows
}

function grown(part: StoredPart): string {
  return grownText(part.part) + part.pieces.map((piece) => piece.text).join("")
}

function grownPart(part: StoredPart): Part {
  return part.pieces.length > 0 ? withGrownText(part.part, grown(part)) : part.part
}

const operations = [
  "append",
  "part",
  "piece",
  "part and piece",
  "keep",
  "settle",
  "cut",
  "seal",
  "note",
  "move",
  "redact",
] as const
interface Draw {
  op: (typeof operations)[number]
  number: number
  word: string
}

const draw: fc.Arbitrary<Draw> = fc.record({
  op: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom("append" as const, "piece" as const, "part" as const) },
    { weight: 3, arbitrary: fc.constantFrom(...operations) },
  ),
  number: fc.nat(20),
  word: fc.constantFrom("", "a", "bc", "def"),
})

/** An action of a client between two commits. */
const act = fc.record({
  kind: fc.constantFrom(
    "nothing",
    "changes",
    "some changes",
    "half of the changes",
    "again",
    "ask for a page",
    "get the page",
    "delta",
  ),
  number: fc.nat(20),
})
type Act = { kind: string; number: number }

/** A client that disconnects, reconnects, receives rows twice, and reads pages late. */
class Client {
  readonly store: PlainStore
  readonly view = emptyView()
  cursor = 0
  #heard: Row[][] = []
  #page: ReturnType<PlainStore["page"]> | undefined

  constructor(store: PlainStore) {
    this.store = store
  }

  act({ kind, number }: Act): void {
    if (kind === "changes") this.hear()
    if (kind === "some changes") this.hear(1 + (number % 3))
    if (kind === "half of the changes") this.#hearHalf(number)
    if (kind === "again")
      for (const row of this.#heard[number % Math.max(1, this.#heard.length)] ?? []) this.#put(row)
    if (kind === "ask for a page") this.#page = this.store.page(number % 8, (number % 8) + 1 + (number % 5))
    if (kind === "get the page" && this.#page) reducePage(this.view, this.#page)
    if (kind === "delta") this.#delta(number)
  }

  hear(limit?: number): void {
    const { rows, cursor } = this.store.changes(this.cursor, limit)
    this.#heard.push(rows)
    this.cursor = cursor
    for (const row of rows) this.#put(row)
  }

  /** Disconnects in the middle of a batch, so that it receives the batch again. */
  #hearHalf(number: number): void {
    const { rows } = this.store.changes(this.cursor)
    for (const row of rows.slice(0, number % (rows.length + 1))) this.#put(row)
  }

  #put(row: Row): void {
    reduceRow(this.view, structuredClone(row))
  }

  /** Streams text at the end of an open part; some of the text is never committed. */
  #delta(number: number): void {
    const item = this.store.items().at(-1)
    const part = item?.parts[number % Math.max(1, item.parts.length)]
    const field = part && growingField(part)
    if (!field) return
    const offset = Math.max(0, grownText(part).length - (number % 3))
    const delta = grownText(part).slice(offset) + (number % 2 === 0 ? "a" : "??")
    reduceDelta(this.view, { messageID: part.messageID, partID: part.id, field, offset, delta })
  }

  catchUp(): void {
    this.hear()
    for (let round = 0; round < 3; round++) {
      for (const { from, to } of missing(this.view)) reducePage(this.view, this.store.page(from, to))
    }
  }
}

describe("a replica", () => {
  const steps = fc.array(fc.tuple(draw, act), { maxLength: 60, size: "max" })

  test("that gets every commit at once equals the store", () => {
    fc.assert(
      fc.property(steps, (drawn) => {
        const store = new PlainStore()
        const client = new Client(store)
        for (const [operation] of drawn) {
          store.commit(operation)
          client.catchUp()
          expect(viewMessages(client.view)).toEqual(store.items())
          expect(viewCount(client.view)).toBe(store.messages.length)
        }
      }),
      { numRuns: 300 },
    )
  })

  test("needs no page as long as the history only grows", () => {
    fc.assert(
      fc.property(steps, (drawn) => {
        const store = new PlainStore()
        const client = new Client(store)
        for (const [operation, { number }] of drawn) {
          if (operation.op === "move" || operation.op === "redact") continue
          store.commit(operation)
          if (number % 3 === 0) client.hear()
        }
        client.hear()
        expect(missing(client.view)).toEqual([])
        expect(viewMessages(client.view)).toEqual(store.items())
      }),
      { numRuns: 300 },
    )
  })

  test("ends in the same state, whatever was dropped, repeated or late on the way", () => {
    fc.assert(
      fc.property(steps, (drawn) => {
        const store = new PlainStore()
        const client = new Client(store)
        for (const [operation, action] of drawn) {
          store.commit(operation)
          client.act(action)
        }
        client.catchUp()
        dropLive(client.view, store)
        expect(missing(client.view)).toEqual([])
        expect(viewMessages(client.view)).toEqual(store.items())
        expect(viewCount(client.view)).toBe(store.messages.length)
      }),
      { numRuns: 2000 },
    )
  })

  test("may begin in the middle and page in only the end", () => {
    fc.assert(
      fc.property(steps, steps, fc.integer({ min: 1, max: 6 }), (before, after, last) => {
        const store = new PlainStore()
        for (const [operation] of before) store.commit(operation)
        const client = new Client(store)
        client.cursor = store.version
        reducePage(client.view, store.page(Math.max(0, store.messages.length - last), store.messages.length))
        for (const [operation, action] of after) {
          store.commit(operation)
          client.act(action)
        }
        client.hear()
        for (const { from, to } of missing(client.view, { last }))
          reducePage(client.view, store.page(from, to))
        dropLive(client.view, store)
        const from = Math.max(0, store.messages.length - last)
        expect(missing(client.view, { last })).toEqual([])
        expect(viewMessages(client.view).filter((item) => item.position >= from)).toEqual(store.items(from))
      }),
      { numRuns: 1000 },
    )
  })
})

/** Deltas that no row has confirmed are shown; a new value of each part removes them. */
function dropLive(view: SessionView, store: PlainStore): void {
  const open = store.messages.findLast((message) => !message.sealed)
  if (!open) return
  store.version++
  for (const part of open.parts)
    if (growingField(part.part)) {
      part.version = store.version
      for (const piece of part.pieces) piece.version = store.version
    }
  for (const row of store.changes(store.version - 1).rows) reduceRow(view, row)
}
