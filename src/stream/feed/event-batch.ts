import type { Part, StemmaEvent } from "../../protocol/index.ts"
import type { RowOf } from "../../session/replica/view.ts"
import { addPiece, type Growth, grownPart, growthOf, keepLive } from "./growth.ts"

/** An event and the version of the row that it comes from. */
export interface VersionedEvent {
  event: StemmaEvent
  version: number
}

export interface BatchResult<Subscriber> {
  events: VersionedEvent[]
  /** Growing parts that the rows change, including parts whose text subscribers already have. */
  touched: Map<string, TouchedPart<Subscriber>>
  /** Messages and parts that are sealed or gone. */
  ended: Set<string>
}

export interface TouchedPart<Subscriber> {
  growth: Growth<Subscriber>
  /** The part with all its text. */
  part: Part
  version: number
}

/** Collects the events of a batch of rows. The text of a part is complete only after the last row of the batch. */
export class EventBatch<Subscriber> {
  readonly #growing: Map<string, Growth<Subscriber>>
  readonly #events: VersionedEvent[] = []
  /** By part id: the growing part and the newest version of a row that changed it. */
  readonly #touched = new Map<string, { growth: Growth<Subscriber>; version: number }>()
  /**
   * By part id: the growth before this batch, for each part that is sent whole. Undefined if the part was not growing.
   */
  readonly #growthBefore = new Map<string, Growth<Subscriber> | undefined>()
  readonly #sealed = new Set<string>()
  readonly #ended = new Set<string>()

  constructor(growing: Map<string, Growth<Subscriber>>) {
    this.#growing = growing
  }

  addEvent(event: StemmaEvent, version: number): void {
    if (event.type === "message.part.removed") this.#stopGrowing(event.properties.partID)
    if (event.type === "message.removed") this.#stopGrowing(event.properties.messageID)
    if (event.type === "message.updated") this.#ended.delete(event.properties.info.id)
    if (event.type === "session.deleted") this.#growing.clear()
    this.#events.push({ event, version })
  }

  /** Takes the row of a part. The caller adds the event of that row afterwards. */
  addPart(part: Part, version: number): void {
    const before = this.#growing.get(part.id)
    if (!this.#growthBefore.has(part.id)) this.#growthBefore.set(part.id, before)
    this.#ended.delete(part.id)
    this.#ended.delete(part.messageID)
    const growth = growthOf<Subscriber>(part, before?.unaware)
    if (growth) {
      this.#growing.set(part.id, growth)
      this.#touch(growth, version)
      return
    }
    this.#growing.delete(part.id)
    this.#touched.delete(part.id)
  }

  addPiece(row: RowOf<"piece">): void {
    const growth = this.#growing.get(row.partID)
    if (growth === undefined || growth.field !== row.field) return
    const { sessionID, messageID, partID, field, version } = row
    this.#touch(growth, version)
    const fresh = addPiece(growth, row)
    if (fresh === undefined || this.#growthBefore.has(partID)) return
    if (fresh === "replaced") {
      this.#sendWhole(growth, version)
      return
    }
    const properties = { sessionID, messageID, partID, field, ...fresh }
    this.#events.push({ event: { type: "message.part.delta", properties }, version })
  }

  /**
   * Live text that no row has confirmed when its message is sealed was never stored, so the part is sent without it.
   */
  seal(messageID: string, version: number): void {
    this.#sealed.add(messageID)
    for (const growth of this.#growing.values()) {
      if (growth.part.messageID !== messageID) continue
      this.#touch(growth, version)
      if (growth.live === "") continue
      growth.live = ""
      if (!this.#growthBefore.has(growth.part.id)) this.#sendWhole(growth, version)
    }
  }

  finish(): BatchResult<Subscriber> {
    for (const [partID, before] of this.#growthBefore) {
      const growth = this.#growing.get(partID)
      if (growth && before && !this.#sealed.has(growth.part.messageID)) keepLive(growth, before)
    }
    const touched = new Map<string, TouchedPart<Subscriber>>()
    for (const [partID, { growth, version }] of this.#touched) {
      touched.set(partID, { growth, version, part: grownPart(growth) })
    }
    const events = this.#mergedEvents(touched)
    for (const messageID of this.#sealed) this.#stopGrowing(messageID)
    return { events, touched, ended: this.#ended }
  }

  /** Marks a message or a part as no longer growing. */
  #stopGrowing(id: string): void {
    this.#ended.add(id)
    this.#growing.delete(id)
    for (const [partID, { part }] of this.#growing) if (part.messageID === id) this.#growing.delete(partID)
  }

  #touch(growth: Growth<Subscriber>, version: number): void {
    const known = this.#touched.get(growth.part.id)
    this.#touched.set(growth.part.id, { growth, version: Math.max(version, known?.version ?? 0) })
  }

  /** Sends the part as a whole at the end of the batch. */
  #sendWhole(growth: Growth<Subscriber>, version: number): void {
    this.#growthBefore.set(growth.part.id, undefined)
    this.#events.push({ event: { type: "message.part.updated", properties: { part: growth.part } }, version })
  }

  /**
   * Sends each part once, in its final state. Deltas of a part that is sent whole are dropped, because the part
   * contains them.
   */
  #mergedEvents(touched: Map<string, TouchedPart<Subscriber>>): VersionedEvent[] {
    const last = new Map<string, { part: Part; version: number }>()
    for (const { event, version } of this.#events) {
      if (event.type === "message.part.updated") {
        last.set(event.properties.part.id, { part: event.properties.part, version })
      }
    }
    const sentParts = new Map<string, string>()
    return this.#events.flatMap(({ event, version }): VersionedEvent[] => {
      if (event.type === "message.part.delta" && this.#growthBefore.has(event.properties.partID)) return []
      if (event.type === "message.part.removed") sentParts.delete(event.properties.partID)
      if (event.type === "message.removed") {
        for (const [partID, messageID] of sentParts) {
          if (messageID === event.properties.messageID) sentParts.delete(partID)
        }
      }
      if (event.type !== "message.part.updated") return [{ event, version }]
      const { id, messageID } = event.properties.part
      if (sentParts.has(id)) return []
      sentParts.set(id, messageID)
      const whole = touched.get(id) ?? last.get(id)!
      const properties = { part: whole.part }
      return [{ event: { ...event, properties }, version: Math.max(version, whole.version) }]
    })
  }
}
