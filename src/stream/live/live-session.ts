import type { Row, StemmaEvent } from "../../protocol/index.ts"
import type { BatchResult } from "../feed/event-batch.ts"
import { type ExtraReads, SessionFeed } from "../feed/feed.ts"
import { addLive, type Growth, grownLength, grownPart } from "../feed/growth.ts"
import type { Delta, Frame } from "../frame.ts"
import type { Subscriber } from "../subscriber/subscriber.ts"

/**
 * Limits for live text that waits for the row of its part, or for a gap to close. Dropped text arrives later as pieces.
 */
const heldMax = 10_000
const heldUnitsMax = 1 << 20

/** The changes of one session that a round has read. */
export interface SessionChanges {
  rows: readonly Row[]
  extras: ExtraReads | undefined
}

/** A session that has subscribers: its feed, its subscribers, and live text that arrived too early. */
export class LiveSession {
  readonly feed: SessionFeed<Subscriber>
  readonly subscribers = new Set<Subscriber>()
  /** True once the subscribers that match by location are among `subscribers`. */
  isLocated = false
  /** When rows of the session were last read, or when its first text arrived. */
  touchedMs = performance.now()
  #held: Delta[] = []
  #heldUnits = 0

  constructor(sessionID: string) {
    this.feed = new SessionFeed(sessionID, { isCatchUp: false })
  }

  /** Adds a subscriber, which has not received the parts that are growing now. */
  add(subscriber: Subscriber): void {
    if (this.subscribers.has(subscriber)) return
    this.subscribers.add(subscriber)
    // A subscriber that takes rows receives the text as rows, and ignores live text that does not fit.
    if (subscriber.takesRows) return
    for (const growth of this.feed.growing.values()) {
      growth.unaware ??= new Set()
      growth.unaware.add(subscriber)
    }
  }

  delta(delta: Delta): void {
    const growth = this.feed.growing.get(delta.partID)
    if (growth === undefined || growth.field !== delta.field) {
      this.#hold(delta)
      return
    }
    if (growth.unaware === undefined && delta.offset === grownLength(growth)) {
      growth.live += delta.delta
      const frame: Frame = { event: { type: "message.part.delta", properties: delta } }
      for (const subscriber of this.subscribers) subscriber.push(frame)
      return
    }
    if (!this.#addLive(growth, delta)) this.#hold(delta)
  }

  /** Sends the events of the rows to the subscribers. The frame of the last event has the cursor `after`. */
  send({ rows, extras }: SessionChanges, cursors: { before: string; after: string }): void {
    const result = this.feed.eventsFor(rows, extras)
    const introduced = this.#sendPartsToUnaware(result, cursors.before)
    for (const [index, { event, version }] of result.events.entries()) {
      const cursor = index === result.events.length - 1 ? cursors.after : cursors.before
      const frame = { event, cursor }
      const without =
        event.type === "message.part.delta" ? introduced?.get(event.properties.partID) : undefined
      for (const subscriber of this.subscribers) {
        if (subscriber.takesRows || subscriber.fromVersion >= version || without?.has(subscriber)) continue
        subscriber.push(frame)
      }
    }
    this.#sendRows(rows, cursors)
    this.feed.trim()
    this.touchedMs = performance.now()
    this.#retry(result.ended)
  }

  #sendRows(rows: readonly Row[], cursors: { before: string; after: string }): void {
    const takers = [...this.subscribers].filter(({ takesRows }) => takesRows)
    if (takers.length === 0) return
    const last = rows.at(-1)
    for (const row of rows) {
      const frame: Frame =
        row === last ? { row, cursor: cursors.after } : { row, cursor: cursors.before, more: true }
      for (const subscriber of takers) if (subscriber.fromVersion < row.version) subscriber.push(frame)
    }
  }

  /** Sends the changed parts to subscribers that do not have them yet. These subscribers need none of the deltas. */
  #sendPartsToUnaware(
    result: BatchResult<Subscriber>,
    cursor: string,
  ): Map<string, Set<Subscriber>> | undefined {
    let introduced: Map<string, Set<Subscriber>> | undefined
    for (const [partID, { growth, part, version }] of result.touched) {
      const isSentWhole = result.events.some(
        ({ event }) => event.type === "message.part.updated" && event.properties.part.id === partID,
      )
      if (isSentWhole) {
        growth.unaware = this.#subscribersAhead(version)
        continue
      }
      if (growth.unaware === undefined) continue
      const frame = partFrame(part, cursor)
      const reached = new Set([...growth.unaware].filter(({ fromVersion }) => fromVersion < version))
      for (const subscriber of reached) subscriber.push(frame)
      growth.unaware = growth.unaware.difference(reached)
      if (growth.unaware.size === 0) growth.unaware = undefined
      introduced ??= new Map()
      introduced.set(partID, reached)
    }
    return introduced
  }

  /** Subscribers that do not receive rows of that version, because they joined later. */
  #subscribersAhead(version: number): Set<Subscriber> | undefined {
    const ahead = [...this.subscribers].filter(
      ({ takesRows, fromVersion }) => !takesRows && fromVersion >= version,
    )
    return ahead.length === 0 ? undefined : new Set(ahead)
  }

  /** Takes live text and sends the new text of it. False if the text leaves a gap. */
  #addLive(growth: Growth<Subscriber>, delta: Delta): boolean {
    const offset = grownLength(growth)
    const added = addLive(growth, delta)
    if (added === "early") return false
    if (added !== "replaced" && added.delta === "") return true
    const { unaware } = growth
    growth.unaware = undefined
    const whole = unaware || added === "replaced" ? partFrame(grownPart(growth)) : undefined
    const frame = added === "replaced" ? whole! : { event: deltaEvent(delta, offset, added.delta) }
    for (const subscriber of this.subscribers) {
      if (subscriber.takesRows && added === "replaced") continue
      subscriber.push(unaware?.has(subscriber) ? whole! : frame)
    }
    return true
  }

  /** Only one message of a session is open at a time, so held text of another message is obsolete. */
  #hold(delta: Delta): void {
    if (this.#held[0] && this.#held[0].messageID !== delta.messageID) this.#dropHeld()
    if (this.#held.length >= heldMax || this.#heldUnits + delta.delta.length > heldUnitsMax) return
    this.#held.push({ ...delta })
    this.#heldUnits += delta.delta.length
  }

  /** Sends held text that fits by now. */
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
