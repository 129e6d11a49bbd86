import type { Row, StemmaEvent } from "../../protocol/index.ts"
import type { Told } from "../feed/event-batch.ts"
import { type Extras, SessionFeed } from "../feed/feed.ts"
import { addLive, type Growth, grownLength, grownPart } from "../feed/growth.ts"
import type { Delta, Frame } from "../frame.ts"
import type { Subscriber } from "../subscriber/subscriber.ts"

/** Live text that waits for the row of its part, or for a gap to close. What is dropped comes as pieces. */
const heldMax = 10_000
const heldUnitsMax = 1 << 20

/** What was read of a session. */
export interface Batch {
  rows: readonly Row[]
  extras: Extras | undefined
}

/** A session that somebody listens to: its feed, its listeners, and live text that came too early. */
export class LiveSession {
  readonly feed: SessionFeed<Subscriber>
  readonly subscribers = new Set<Subscriber>()
  /** True if those who listen by its place are among the subscribers. */
  isPlaced = false
  /** When rows of it were last read, or the first text came. */
  touchedMs = performance.now()
  #held: Delta[] = []
  #heldUnits = 0

  constructor(sessionID: string) {
    this.feed = new SessionFeed(sessionID, { isPast: false })
  }

  /** A new listener knows nothing of what is growing. */
  add(subscriber: Subscriber): void {
    if (this.subscribers.has(subscriber)) return
    this.subscribers.add(subscriber)
    // Rows tell it by themselves, and live text that does not fit is left to them.
    if (subscriber.takesRows) return
    for (const growth of this.feed.growing.values()) {
      growth.strangers ??= new Set()
      growth.strangers.add(subscriber)
    }
  }

  delta(delta: Delta): void {
    const growth = this.feed.growing.get(delta.partID)
    if (growth === undefined || growth.field !== delta.field) {
      this.#hold(delta)
      return
    }
    if (growth.strangers === undefined && delta.offset === grownLength(growth)) {
      growth.live += delta.delta
      const frame: Frame = { event: { type: "message.part.delta", properties: delta } }
      for (const subscriber of this.subscribers) subscriber.push(frame)
      return
    }
    if (!this.#add(growth, delta)) this.#hold(delta)
  }

  /** Tells the listeners what the rows mean. The frame of the last event has the cursor `after`. */
  tell({ rows, extras }: Batch, cursors: { before: string; after: string }): void {
    const told = this.feed.tell(rows, extras)
    const introduced = this.#introduce(told, cursors.before)
    for (const [index, { event, version }] of told.events.entries()) {
      const cursor = index === told.events.length - 1 ? cursors.after : cursors.before
      const frame = { event, cursor }
      const without =
        event.type === "message.part.delta" ? introduced?.get(event.properties.partID) : undefined
      for (const subscriber of this.subscribers) {
        if (subscriber.takesRows || subscriber.from >= version || without?.has(subscriber)) continue
        subscriber.push(frame)
      }
    }
    this.#tellRows(rows, cursors)
    this.feed.trim()
    this.touchedMs = performance.now()
    this.#retry(told.ended)
  }

  #tellRows(rows: readonly Row[], cursors: { before: string; after: string }): void {
    const takers = [...this.subscribers].filter(({ takesRows }) => takesRows)
    if (takers.length === 0) return
    const last = rows.at(-1)
    for (const row of rows) {
      const frame: Frame =
        row === last ? { row, cursor: cursors.after } : { row, cursor: cursors.before, more: true }
      for (const subscriber of takers) if (subscriber.from < row.version) subscriber.push(frame)
    }
  }

  /** Gives the parts that were touched to those who do not know them yet. They need none of the deltas. */
  #introduce(told: Told<Subscriber>, cursor: string): Map<string, Set<Subscriber>> | undefined {
    let introduced: Map<string, Set<Subscriber>> | undefined
    for (const [partID, { growth, part, version }] of told.touched) {
      const isGiven = told.events.some(
        ({ event }) => event.type === "message.part.updated" && event.properties.part.id === partID,
      )
      if (isGiven) {
        growth.strangers = this.#subscribersAhead(version)
        continue
      }
      if (growth.strangers === undefined) continue
      const frame = partFrame(part, cursor)
      const met = new Set([...growth.strangers].filter(({ from }) => from < version))
      for (const subscriber of met) subscriber.push(frame)
      growth.strangers = growth.strangers.difference(met)
      if (growth.strangers.size === 0) growth.strangers = undefined
      introduced ??= new Map()
      introduced.set(partID, met)
    }
    return introduced
  }

  /** Listeners that are not given rows of that version, since they began later. */
  #subscribersAhead(version: number): Set<Subscriber> | undefined {
    const ahead = [...this.subscribers].filter(({ takesRows, from }) => !takesRows && from >= version)
    return ahead.length === 0 ? undefined : new Set(ahead)
  }

  /** Takes live text that fits, and gives what of it is new. False if it does not fit yet. */
  #add(growth: Growth<Subscriber>, delta: Delta): boolean {
    const offset = grownLength(growth)
    const added = addLive(growth, delta)
    if (added === "early") return false
    if (added !== "replaced" && added.delta === "") return true
    const { strangers } = growth
    growth.strangers = undefined
    const whole = strangers || added === "replaced" ? partFrame(grownPart(growth)) : undefined
    const frame = added === "replaced" ? whole! : { event: deltaEvent(delta, offset, added.delta) }
    for (const subscriber of this.subscribers) {
      if (subscriber.takesRows && added === "replaced") continue
      subscriber.push(strangers?.has(subscriber) ? whole! : frame)
    }
    return true
  }

  /** Only one message of a session is open at a time. */
  #hold(delta: Delta): void {
    if (this.#held[0] && this.#held[0].messageID !== delta.messageID) this.#dropHeld()
    if (this.#held.length >= heldMax || this.#heldUnits + delta.delta.length > heldUnitsMax) return
    this.#held.push({ ...delta })
    this.#heldUnits += delta.delta.length
  }

  /** Gives live text that fits by now. */
  #retry(ended: Set<string>): void {
    if (this.#held.length === 0) return
    const held = this.#held
    this.#dropHeld()
    for (const delta of held) {
      if (!ended.has(delta.messageID) && !ended.has(delta.partID)) this.delta(delta)
    }
  }

  #dropHeld(): void {
    this.#held = []
    this.#heldUnits = 0
  }
}

function deltaEvent(delta: Delta, offset: number, text: string): StemmaEvent {
  const { sessionID, messageID, partID, field } = delta
  const properties = { sessionID, messageID, partID, field, offset, delta: text }
  return { type: "message.part.delta", properties }
}

function partFrame(part: ReturnType<typeof grownPart>, cursor?: string): Frame {
  return { event: { type: "message.part.updated", properties: { part } }, ...(cursor && { cursor }) }
}
