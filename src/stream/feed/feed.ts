import type { HistoryItem, Row } from "../../protocol/index.ts"
import { eventsOf } from "../../session/replica/events.ts"
import { reduceRow } from "../../session/replica/reduce.ts"
import { emptyView, type RowOf, viewItem } from "../../session/replica/view.ts"
import { type BatchResult, EventBatch } from "./event-batch.ts"
import type { Growth } from "./growth.ts"
import {
  asStarted,
  hasAllParts,
  isAppendedWhole,
  isCoveredBy,
  messageRow,
  removedEvent,
  rowsOf,
  startedEvent,
  withoutReplacedRows,
} from "./message-rows.ts"
import { inEventOrder, isFinish, messageIDOf } from "./row-order.ts"

/** Reads that complete a batch of rows. */
export interface ExtraReads {
  /** Messages that the rows name, by id, in their current state. */
  messages: Map<string, HistoryItem>
  moved: HistoryMove | undefined
}

/**
 * A move of the history, or a redaction. Rows that are older than `version` and at or after position `from` are
 * obsolete.
 */
export interface HistoryMove {
  from: number
  version: number
  /** Ids of messages that the history no longer has. */
  removed: string[]
  /** All messages that the history has from position `from` on. */
  items: HistoryItem[]
}

/**
 * Turns one session's rows into events, for subscribers that only replace parts and append deltas.
 * `message.part.updated` has all text so far. Each `message.part.delta` begins exactly where the text ends. Text that
 * was sent live is not sent again. A feed knows only what changed since it was created, and forgets sealed messages.
 */
export class SessionFeed<Subscriber> {
  readonly sessionID: string
  readonly growing = new Map<string, Growth<Subscriber>>()
  /**
   * Messages that may have been open when subscribers last received them. Such a message may have lost parts since
   * then, and no row names the lost parts. With its next message row it is removed and sent again as a whole.
   */
  readonly #maybeStale = new Set<string>()
  /** Messages of `#maybeStale` whose parts were sent. */
  readonly #resent = new Set<string>()
  readonly #seen = new Set<string>()
  readonly #isCatchUp: boolean
  #hasSeenMessage = false
  #isNew = false
  #open: string | undefined
  readonly #sealed = new Set<string>()
  #session: RowOf<"session"> | undefined
  #view = emptyView()

  /** `isCatchUp`: the subscriber may have received any of these events before it disconnected. */
  constructor(sessionID: string, options: { isCatchUp: boolean }) {
    this.sessionID = sessionID
    this.#isCatchUp = options.isCatchUp
  }

  /** To be called for a session that was just created: subscribers cannot know anything of it. */
  markNew(): void {
    this.#isNew = true
    this.#hasSeenMessage = true
  }

  get isQuiet(): boolean {
    return this.#open === undefined && this.growing.size === 0
  }

  /** The messages that must be read before these rows can become events. To be called before `eventsFor`. */
  wantedMessages(rows: readonly Row[]): Set<string> {
    this.#markStale(rows)
    const wanted = new Set<string>()
    for (const row of rows) {
      const messageID = messageIDOf(row)
      if (messageID === undefined || wanted.has(messageID)) continue
      if (!this.#hasEnoughRows(row, messageRow(rows, messageID), rows)) wanted.add(messageID)
    }
    return wanted
  }

  #hasEnoughRows(row: Row, own: RowOf<"message"> | undefined, rows: readonly Row[]): boolean {
    const messageID = messageIDOf(row)!
    if (!this.#maybeStale.has(messageID)) return own !== undefined || this.#isInView(row)
    return own ? hasAllParts(own, rows) : this.#resent.has(messageID)
  }

  #isInView(row: Row): boolean {
    return "position" in row && viewItem(this.#view, row.position)?.message.id === messageIDOf(row)
  }

  /**
   * A message changes only while it is the last one. So only the first message that the rows name can be older than the
   * feed. During catch-up, the subscriber may have received any message before.
   */
  #markStale(rows: readonly Row[]): void {
    for (const row of rows) {
      const messageID = row.type === "note" ? undefined : messageIDOf(row)
      if (messageID === undefined || this.#seen.has(messageID)) continue
      this.#seen.add(messageID)
      if ((this.#isCatchUp || !this.#hasSeenMessage) && !isAppendedWhole(rows, messageID))
        this.#maybeStale.add(messageID)
      this.#hasSeenMessage = true
    }
  }

  /**
   * Turns rows into events. `rows` must be all that `changes` returned, and none may be older than the rows of an
   * earlier call.
   */
  eventsFor(rows: readonly Row[], extras?: ExtraReads): BatchResult<Subscriber> {
    const batch = new EventBatch(this.growing)
    const useful = withoutReplacedRows(rows, extras?.moved)
    const seen = new Set<string>()
    for (const row of inEventOrder(useful)) {
      const messageID = messageIDOf(row)
      if (messageID !== undefined && !seen.has(messageID)) {
        seen.add(messageID)
        const item = extras?.messages.get(messageID)
        if (row.type === "note") this.#loadNotedMessage(row, item)
        else {
          const newest = newestVersion(useful, messageID)
          this.#introduceMessage(row, { messageID, item, own: messageRow(useful, messageID), newest, batch })
        }
      }
      this.#applyRow(row, batch)
      if (row.type === "history" && row.version === extras?.moved?.version) {
        this.#applyMove(extras.moved, { rows: useful, batch })
      }
    }
    return batch.finish()
  }

  /** Forgets sealed messages. */
  trim(): void {
    if (!this.isQuiet) return
    this.#sealed.clear()
    this.#seen.clear()
    this.#resent.clear()
    this.#view = emptyView()
    if (this.#session) reduceRow(this.#view, this.#session)
  }

  #applyRow(row: Row, batch: EventBatch<Subscriber>): void {
    const events = eventsOf(row, this.#view)
    if (!reduceRow(this.#view, row)) return
    if (row.type === "piece") {
      batch.addPiece(row)
      return
    }
    this.#trackOpenMessage(row)
    if (isFinish(row)) batch.seal(row.message.id, row.version)
    if (row.type === "part") batch.addPart(row.part, row.version)
    for (const event of events) {
      // A session row does not say whether the session is new.
      if (event.type !== "session.created" || this.#isNew) batch.addEvent(event, row.version)
    }
    if (row.type === "removed") this.#isNew = true
    if (row.type === "message" && row.sealed) batch.seal(row.message.id, row.version)
  }

  #trackOpenMessage(row: Row): void {
    if (row.type === "session") this.#session = row
    if (row.type === "history" || row.type === "removed") this.#open = undefined
    if (row.type === "part" && !this.#sealed.has(row.part.messageID)) this.#open ??= row.part.messageID
    if (row.type !== "message") return
    this.#open = row.sealed ? undefined : row.message.id
    if (row.sealed) this.#sealed.add(row.message.id)
  }

  /** A note row without its message row belongs to a message that was sealed before. */
  #loadNotedMessage(row: RowOf<"note">, item: HistoryItem | undefined): void {
    if (item && !this.#isInView(row)) reduceRow(this.#view, rowsOf(item, this.sessionID, row.version)[0])
  }

  /**
   * Runs before the first row of a message. Subscribers must know the message, and every part of a message that may be
   * stale.
   */
  #introduceMessage(first: Row, introduction: MessageIntroduction<Subscriber>): void {
    const { messageID, own, item, newest, batch } = introduction
    const isMaybeStale = this.#maybeStale.has(messageID)
    const isSentAgain = isMaybeStale && own !== undefined
    if (isSentAgain) {
      this.#maybeStale.delete(messageID)
      batch.addEvent(removedEvent(this.sessionID, messageID), own.version)
    }
    const { version } = own ?? first
    if (own && !isFinish(own)) this.#applyRow(own, batch)
    else if (own && (isSentAgain || !this.#isInView(own))) batch.addEvent(startedEvent(own.message), version)
    else if (!own && item && !this.#isInView(first)) {
      const [row] = rowsOf(item, this.sessionID, version)
      this.#applyRow({ ...row, sealed: false, message: asStarted(row.message) }, batch)
    }
    if (!item || !isMaybeStale) return
    this.#resent.add(messageID)
    if (!item.sealed) this.#open ??= messageID
    // These parts contain the changes of all the rows. They carry the newest version, because a subscriber that has
    // only some of the rows needs them too.
    for (const row of rowsOf(item, this.sessionID, version)) {
      if (row.type !== "part") continue
      reduceRow(this.#view, row)
      batch.addPart(row.part, newest)
      batch.addEvent({ type: "message.part.updated", properties: { part: row.part } }, newest)
    }
  }

  /** Sends what the history dropped, then what the history has now, except messages that the following rows contain. */
  #applyMove(
    { removed, items, version }: HistoryMove,
    { rows, batch }: { rows: readonly Row[]; batch: EventBatch<Subscriber> },
  ): void {
    for (const messageID of removed) batch.addEvent(removedEvent(this.sessionID, messageID), version)
    for (const item of items) {
      const { id } = item.message
      if (isCoveredBy(rows, id, version)) continue
      this.#seen.add(id)
      this.#maybeStale.delete(id)
      batch.addEvent(removedEvent(this.sessionID, id), version)
      for (const row of rowsOf(item, this.sessionID, version)) this.#applyRow(row, batch)
    }
  }
}

interface MessageIntroduction<Subscriber> {
  messageID: string
  /** The message row, if it is among the rows. */
  own: RowOf<"message"> | undefined
  item: HistoryItem | undefined
  /** The version of the newest row that belongs to the message. */
  newest: number
  batch: EventBatch<Subscriber>
}

function newestVersion(rows: readonly Row[], messageID: string): number {
  return rows.reduce(
    (newest, row) => (messageIDOf(row) === messageID ? Math.max(newest, row.version) : newest),
    0,
  )
}
