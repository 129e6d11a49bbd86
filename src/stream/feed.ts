import type { HistoryItem, Message, Row, StemmaEvent } from "../protocol/index.ts"
import { eventsOf } from "../session/events.ts"
import { reduceRow } from "../session/reduce.ts"
import { emptyView, missing, type RowOf, viewItem } from "../session/view.ts"
import type { Growth } from "./growth.ts"
import { inTellingOrder, isFinish, messageOf } from "./row-order.ts"
import { Telling, type Told } from "./telling.ts"

/** What was read beside the rows because they do not tell everything. */
export interface Extras {
  /** Messages that the rows are about, by id, as they are now. */
  messages: Map<string, HistoryItem>
  /** Messages that the history no longer has. */
  removed: string[]
  /** Messages that the history has instead. */
  replaced: HistoryItem[]
}

/**
 * One session's rows in, events out, for listeners that do no more than put and concatenate: `message.part.updated` has
 * all text so far, each `message.part.delta` goes on exactly where the text ends, text that was given live is not given
 * again. It knows no more of the session than what changed since it was made and is not sealed.
 */
export class SessionFeed<Listener> {
  readonly sessionID: string
  readonly growing = new Map<string, Growth<Listener>>()
  /**
   * The message that may have been open when the feed began. Parts of it may be gone whose ids nothing tells any more:
   * with its next row the message is removed and given again as a whole.
   */
  #doubtful: string | undefined
  #isIntroduced = false
  #hasBegun = false
  #isNew = false
  #open: string | undefined
  readonly #sealed = new Set<string>()
  #session: RowOf<"session"> | undefined
  #view = emptyView()

  constructor(sessionID: string) {
    this.sessionID = sessionID
  }

  /** Listeners cannot know anything of the session: it was just created. */
  setNew(): void {
    this.#isNew = true
    this.#hasBegun = true
  }

  get isQuiet(): boolean {
    return this.#open === undefined && this.growing.size === 0
  }

  /** The messages that must be read for these rows to be told. To be called before `tell`. */
  wantedMessages(rows: readonly Row[]): Set<string> {
    this.#begin(rows)
    const given = new Set(rows.map((row) => row.type === "message" && row.message.id))
    const wanted = new Set<string>()
    for (const row of rows) {
      const messageID = messageOf(row)
      if (messageID === undefined) continue
      const isIncomplete = messageID === this.#doubtful && (!this.#isIntroduced || row.type === "message")
      if (isIncomplete || (!given.has(messageID) && !this.#knows(row))) wanted.add(messageID)
    }
    return wanted
  }

  #knows(row: Row): boolean {
    return "position" in row && viewItem(this.#view, row.position)?.message.id === messageOf(row)
  }

  /** A message changes only while it is the last, so only the first that rows tell of can be older than the feed. */
  #begin(rows: readonly Row[]): void {
    if (this.#hasBegun) return
    const first = rows.find((row) => row.type !== "note" && messageOf(row) !== undefined)
    if (first === undefined) return
    this.#hasBegun = true
    const messageID = messageOf(first)!
    if (!isAppendedWhole(rows, messageID)) this.#doubtful = messageID
  }

  /** Tells what the rows mean. They are all that `changes` gave, and none is older than those told before. */
  tell(rows: readonly Row[], extras?: Extras): Told<Listener> {
    const telling = new Telling(this.growing)
    const met = new Set<string>()
    const lastMove = rows.findLast((row) => row.type === "history")
    for (const row of inTellingOrder(rows)) {
      const messageID = messageOf(row)
      if (messageID !== undefined && !met.has(messageID)) {
        met.add(messageID)
        const item = extras?.messages.get(messageID)
        if (row.type === "note") this.#meetNoted(row, item)
        else this.#meet(row, { messageID, item, own: ownRow(rows, messageID), telling })
      }
      this.#row(row, telling)
      if (row.type === "history") met.clear()
      if (row === lastMove && extras) this.#replace(extras, { rows, version: row.version, telling })
    }
    return telling.end()
  }

  /** Forgets what is sealed. */
  trim(): void {
    if (!this.isQuiet) return
    this.#sealed.clear()
    this.#view = emptyView()
    if (this.#session) reduceRow(this.#view, this.#session)
  }

  #row(row: Row, telling: Telling<Listener>): void {
    const events = eventsOf(row, this.#view)
    if (!reduceRow(this.#view, row)) return
    if (row.type === "piece") {
      telling.piece(row)
      return
    }
    this.#follow(row)
    if (isFinish(row)) telling.seal(row.message.id, row.version)
    if (row.type === "part") telling.put(row.part, row.version)
    for (const event of events) {
      // A row does not say whether the session is new.
      if (event.type !== "session.created" || this.#isNew) telling.event(event, row.version)
    }
    if (row.type === "removed") this.#isNew = true
    if (row.type === "message" && row.sealed) telling.seal(row.message.id, row.version)
  }

  /** Keeps track of which message is open. */
  #follow(row: Row): void {
    if (row.type === "session") this.#session = row
    if (row.type === "history" || row.type === "removed") this.#open = undefined
    if (row.type === "part" && !this.#sealed.has(row.part.messageID)) this.#open ??= row.part.messageID
    if (row.type !== "message") return
    this.#open = row.sealed ? undefined : row.message.id
    if (row.sealed) this.#sealed.add(row.message.id)
  }

  /** A note alone is about a message that was sealed before. */
  #meetNoted(row: RowOf<"note">, item: HistoryItem | undefined): void {
    if (item && !this.#knows(row)) reduceRow(this.#view, rowsOf(item, this.sessionID, row.version)[0])
  }

  /** Before the first row of a message: listeners are to know the message, and of a doubtful one every part. */
  #meet(first: Row, meeting: Meeting<Listener>): void {
    const { messageID, own, item, telling } = meeting
    const isDoubtful = messageID === this.#doubtful
    const isGivenAgain = isDoubtful && own !== undefined
    if (isGivenAgain) {
      this.#doubtful = undefined
      telling.event(removalOf(this.sessionID, messageID), own.version)
    }
    const { version } = own ?? first
    if (own && !isFinish(own)) this.#row(own, telling)
    else if (own && (isGivenAgain || !this.#knows(own))) telling.event(begunEvent(own.message), version)
    else if (!own && item && !this.#knows(first)) {
      const [row] = rowsOf(item, this.sessionID, version)
      this.#row({ ...row, sealed: false, message: asBegun(row.message) }, telling)
    }
    if (!item || !(isGivenAgain || (isDoubtful && !this.#isIntroduced))) return
    this.#isIntroduced = true
    if (!item.sealed) this.#open ??= messageID
    for (const row of rowsOf(item, this.sessionID, version)) {
      if (row.type !== "part") continue
      reduceRow(this.#view, row)
      telling.put(row.part, version)
      telling.event({ type: "message.part.updated", properties: { part: row.part } }, version)
    }
  }

  /** A move or a redaction: what the history dropped, and what it has instead unless the rows tell it. */
  #replace(
    { removed, replaced }: Extras,
    at: { rows: readonly Row[]; version: number; telling: Telling<Listener> },
  ): void {
    const { rows, version, telling } = at
    for (const messageID of removed) telling.event(removalOf(this.sessionID, messageID), version)
    const ranges = missing(this.#view)
    for (const item of replaced) {
      const isMissing = ranges.some(({ from, to }) => item.position >= from && item.position < to)
      if (!isMissing || isTold(rows, item.message.id, version)) continue
      for (const row of rowsOf(item, this.sessionID, version)) this.#row(row, telling)
    }
  }
}

interface Meeting<Listener> {
  messageID: string
  /** The message's own row, if it is among the rows. */
  own: RowOf<"message"> | undefined
  item: HistoryItem | undefined
  telling: Telling<Listener>
}

function ownRow(rows: readonly Row[], messageID: string): RowOf<"message"> | undefined {
  return rows.find((row): row is RowOf<"message"> => row.type === "message" && row.message.id === messageID)
}

/** The message as it was before it was finished: its parts come first. */
function asBegun(message: Message): Message {
  if (message.role === "user") return message
  const { finish: _finish, error: _error, time, ...rest } = message
  return { ...rest, time: { created: time.created } }
}

function begunEvent(message: Message): StemmaEvent {
  return { type: "message.updated", properties: { info: asBegun(message) } }
}

function removalOf(sessionID: string, messageID: string): StemmaEvent {
  return { type: "message.removed", properties: { sessionID, messageID } }
}

/** True if one commit brought the whole message, sealed: a prompt. */
function isAppendedWhole(rows: readonly Row[], messageID: string): boolean {
  const row = ownRow(rows, messageID)
  if (row?.message.role !== "user" || !row.sealed || row.parts === 0) return false
  const parts = rows.filter(
    (candidate) => candidate.type === "part" && candidate.part.messageID === messageID,
  )
  return parts.length === row.parts && parts.every(({ version }) => version === row.version)
}

/** True if rows that are not older than that version tell the whole message. */
function isTold(rows: readonly Row[], messageID: string, version: number): boolean {
  const own = ownRow(rows, messageID)
  if (own === undefined || own.version < version) return false
  const parts = rows.filter((row) => row.type === "part" && row.part.messageID === messageID)
  return parts.filter((row) => row.version >= version).length === own.parts
}

/** A message of a page as rows of that version, its own first. */
function rowsOf(item: HistoryItem, sessionID: string, version: number): [RowOf<"message">, ...Row[]] {
  const { position, sealed, message, parts } = item
  const place = { version, sessionID, position }
  const rows: Row[] = []
  for (const [index, part] of parts.entries()) rows.push({ type: "part", ...place, index, part })
  for (const [key, value] of Object.entries(item.notes ?? {})) {
    rows.push({ type: "note", ...place, messageID: message.id, key, value })
  }
  return [{ type: "message", ...place, sealed, parts: parts.length, message }, ...rows]
}
