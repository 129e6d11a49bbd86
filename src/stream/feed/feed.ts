import type { HistoryItem, Row } from "../../protocol/index.ts"
import { eventsOf } from "../../session/replica/events.ts"
import { reduceRow } from "../../session/replica/reduce.ts"
import { emptyView, type RowOf, viewItem } from "../../session/replica/view.ts"
import { EventBatch, type Told } from "./event-batch.ts"
import type { Growth } from "./growth.ts"
import {
  asBegun,
  begunEvent,
  isAppendedWhole,
  isTold,
  isWhole,
  ownRow,
  removalOf,
  rowsOf,
  usefulRows,
} from "./message-rows.ts"
import { inTellingOrder, isFinish, messageOf } from "./row-order.ts"

/** What was read beside the rows because they do not tell everything. */
export interface Extras {
  /** Messages that the rows are about, by id, as they are now. */
  messages: Map<string, HistoryItem>
  moved: Moved | undefined
}

/** A move of the history, or a redaction. Older rows from a position on are of no use any more. */
export interface Moved {
  from: number
  version: number
  /** Messages that the history no longer has. */
  removed: string[]
  /** All that the history has from there on. */
  items: HistoryItem[]
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
   * Messages that may have been open when listeners last heard of them. Parts of one may be gone whose ids nothing tells
   * any more: with its next row it is removed and given again as a whole.
   */
  readonly #doubtful = new Set<string>()
  /** Doubtful ones whose parts were given. */
  readonly #introduced = new Set<string>()
  readonly #met = new Set<string>()
  readonly #isPast: boolean
  #hasBegun = false
  #isNew = false
  #open: string | undefined
  readonly #sealed = new Set<string>()
  #session: RowOf<"session"> | undefined
  #view = emptyView()

  /** `isPast`: the listener may have heard of any of this before it dropped. */
  constructor(sessionID: string, options: { isPast: boolean }) {
    this.sessionID = sessionID
    this.#isPast = options.isPast
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
    this.#doubt(rows)
    const wanted = new Set<string>()
    for (const row of rows) {
      const messageID = messageOf(row)
      if (messageID === undefined || wanted.has(messageID)) continue
      if (!this.#isTellable(row, ownRow(rows, messageID), rows)) wanted.add(messageID)
    }
    return wanted
  }

  #isTellable(row: Row, own: RowOf<"message"> | undefined, rows: readonly Row[]): boolean {
    const messageID = messageOf(row)!
    if (!this.#doubtful.has(messageID)) return own !== undefined || this.#knows(row)
    return own ? isWhole(own, rows) : this.#introduced.has(messageID)
  }

  #knows(row: Row): boolean {
    return "position" in row && viewItem(this.#view, row.position)?.message.id === messageOf(row)
  }

  /**
   * A message changes only while it is the last, so only the first that rows tell of can be older than the feed. Of the
   * past, any may have been told before.
   */
  #doubt(rows: readonly Row[]): void {
    for (const row of rows) {
      const messageID = row.type === "note" ? undefined : messageOf(row)
      if (messageID === undefined || this.#met.has(messageID)) continue
      this.#met.add(messageID)
      if ((this.#isPast || !this.#hasBegun) && !isAppendedWhole(rows, messageID))
        this.#doubtful.add(messageID)
      this.#hasBegun = true
    }
  }

  /** Tells what the rows mean. They are all that `changes` gave, and none is older than those told before. */
  tell(rows: readonly Row[], extras?: Extras): Told<Listener> {
    const batch = new EventBatch(this.growing)
    const useful = usefulRows(rows, extras?.moved)
    const met = new Set<string>()
    for (const row of inTellingOrder(useful)) {
      const messageID = messageOf(row)
      if (messageID !== undefined && !met.has(messageID)) {
        met.add(messageID)
        const item = extras?.messages.get(messageID)
        if (row.type === "note") this.#meetNoted(row, item)
        else {
          const newest = newestVersion(useful, messageID)
          this.#meet(row, { messageID, item, own: ownRow(useful, messageID), newest, batch })
        }
      }
      this.#row(row, batch)
      if (row.type === "history" && row.version === extras?.moved?.version) {
        this.#replace(extras.moved, { rows: useful, batch })
      }
    }
    return batch.end()
  }

  /** Forgets what is sealed. */
  trim(): void {
    if (!this.isQuiet) return
    this.#sealed.clear()
    this.#met.clear()
    this.#introduced.clear()
    this.#view = emptyView()
    if (this.#session) reduceRow(this.#view, this.#session)
  }

  #row(row: Row, batch: EventBatch<Listener>): void {
    const events = eventsOf(row, this.#view)
    if (!reduceRow(this.#view, row)) return
    if (row.type === "piece") {
      batch.piece(row)
      return
    }
    this.#follow(row)
    if (isFinish(row)) batch.seal(row.message.id, row.version)
    if (row.type === "part") batch.put(row.part, row.version)
    for (const event of events) {
      // A row does not say whether the session is new.
      if (event.type !== "session.created" || this.#isNew) batch.event(event, row.version)
    }
    if (row.type === "removed") this.#isNew = true
    if (row.type === "message" && row.sealed) batch.seal(row.message.id, row.version)
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
    const { messageID, own, item, newest, batch } = meeting
    const isDoubtful = this.#doubtful.has(messageID)
    const isGivenAgain = isDoubtful && own !== undefined
    if (isGivenAgain) {
      this.#doubtful.delete(messageID)
      batch.event(removalOf(this.sessionID, messageID), own.version)
    }
    const { version } = own ?? first
    if (own && !isFinish(own)) this.#row(own, batch)
    else if (own && (isGivenAgain || !this.#knows(own))) batch.event(begunEvent(own.message), version)
    else if (!own && item && !this.#knows(first)) {
      const [row] = rowsOf(item, this.sessionID, version)
      this.#row({ ...row, sealed: false, message: asBegun(row.message) }, batch)
    }
    if (!item || !isDoubtful) return
    this.#introduced.add(messageID)
    if (!item.sealed) this.#open ??= messageID
    // They have what all the rows tell: whoever knows only some of that needs them too.
    for (const row of rowsOf(item, this.sessionID, version)) {
      if (row.type !== "part") continue
      reduceRow(this.#view, row)
      batch.put(row.part, newest)
      batch.event({ type: "message.part.updated", properties: { part: row.part } }, newest)
    }
  }

  /** What the history dropped, and what it has now unless the rows that follow tell it. */
  #replace(
    { removed, items, version }: Moved,
    { rows, batch }: { rows: readonly Row[]; batch: EventBatch<Listener> },
  ): void {
    for (const messageID of removed) batch.event(removalOf(this.sessionID, messageID), version)
    for (const item of items) {
      const { id } = item.message
      if (isTold(rows, id, version)) continue
      this.#met.add(id)
      this.#doubtful.delete(id)
      batch.event(removalOf(this.sessionID, id), version)
      for (const row of rowsOf(item, this.sessionID, version)) this.#row(row, batch)
    }
  }
}

interface Meeting<Listener> {
  messageID: string
  /** The message's own row, if it is among the rows. */
  own: RowOf<"message"> | undefined
  item: HistoryItem | undefined
  /** The version of the newest row that is about it. */
  newest: number
  batch: EventBatch<Listener>
}

function newestVersion(rows: readonly Row[], messageID: string): number {
  return rows.reduce(
    (newest, row) => (messageOf(row) === messageID ? Math.max(newest, row.version) : newest),
    0,
  )
}
