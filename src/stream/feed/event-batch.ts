import type { Part, StemmaEvent } from "../../protocol/index.ts"
import type { RowOf } from "../../session/replica/view.ts"
import { addPiece, type Growth, grownPart, growthOf, keepLive } from "./growth.ts"

/** An event and the version of the row that it was told by. */
export interface Tagged {
  event: StemmaEvent
  version: number
}

export interface Told<Listener> {
  events: Tagged[]
  /** Growing parts that the rows were about, with those whose text listeners had already. */
  touched: Map<string, Touched<Listener>>
  /** Messages and parts that are sealed or gone. */
  ended: Set<string>
}

export interface Touched<Listener> {
  growth: Growth<Listener>
  /** The part with all its text. */
  part: Part
  version: number
}

/** The events of some rows, put together: texts are only whole when all the rows are in. */
export class EventBatch<Listener> {
  readonly #growing: Map<string, Growth<Listener>>
  readonly #events: Tagged[] = []
  /** By part, the newest version of what was told of it. */
  readonly #touched = new Map<string, { growth: Growth<Listener>; version: number }>()
  /** What the parts that are given as a whole were before; undefined if they were not growing. */
  readonly #before = new Map<string, Growth<Listener> | undefined>()
  readonly #sealed = new Set<string>()
  readonly #ended = new Set<string>()

  constructor(growing: Map<string, Growth<Listener>>) {
    this.#growing = growing
  }

  event(event: StemmaEvent, version: number): void {
    if (event.type === "message.part.removed") this.#remove(event.properties.partID)
    if (event.type === "message.removed") this.#remove(event.properties.messageID)
    if (event.type === "message.updated") this.#ended.delete(event.properties.info.id)
    if (event.type === "session.deleted") this.#growing.clear()
    this.#events.push({ event, version })
  }

  /** The row of a part; its event follows. */
  put(part: Part, version: number): void {
    const before = this.#growing.get(part.id)
    if (!this.#before.has(part.id)) this.#before.set(part.id, before)
    this.#ended.delete(part.id)
    this.#ended.delete(part.messageID)
    const growth = growthOf<Listener>(part, before?.strangers)
    if (growth) {
      this.#growing.set(part.id, growth)
      this.#touch(growth, version)
      return
    }
    this.#growing.delete(part.id)
    this.#touched.delete(part.id)
  }

  piece(row: RowOf<"piece">): void {
    const growth = this.#growing.get(row.partID)
    if (growth === undefined || growth.field !== row.field) return
    const { sessionID, messageID, partID, field, version } = row
    this.#touch(growth, version)
    const fresh = addPiece(growth, row)
    if (fresh === undefined || this.#before.has(partID)) return
    if (fresh === "replaced") {
      this.#whole(growth, version)
      return
    }
    const properties = { sessionID, messageID, partID, field, ...fresh }
    this.#events.push({ event: { type: "message.part.delta", properties }, version })
  }

  /** What no row has confirmed when a message is sealed was never said. */
  seal(messageID: string, version: number): void {
    this.#sealed.add(messageID)
    for (const growth of this.#growing.values()) {
      if (growth.part.messageID !== messageID) continue
      this.#touch(growth, version)
      if (growth.live === "") continue
      growth.live = ""
      if (!this.#before.has(growth.part.id)) this.#whole(growth, version)
    }
  }

  end(): Told<Listener> {
    for (const [partID, before] of this.#before) {
      const growth = this.#growing.get(partID)
      if (growth && before && !this.#sealed.has(growth.part.messageID)) keepLive(growth, before)
    }
    const touched = new Map<string, Touched<Listener>>()
    for (const [partID, { growth, version }] of this.#touched) {
      touched.set(partID, { growth, version, part: grownPart(growth) })
    }
    const events = this.#assembled(touched)
    for (const messageID of this.#sealed) this.#remove(messageID)
    return { events, touched, ended: this.#ended }
  }

  /** A message or a part grows no more. */
  #remove(id: string): void {
    this.#ended.add(id)
    this.#growing.delete(id)
    for (const [partID, { part }] of this.#growing) if (part.messageID === id) this.#growing.delete(partID)
  }

  #touch(growth: Growth<Listener>, version: number): void {
    const known = this.#touched.get(growth.part.id)
    this.#touched.set(growth.part.id, { growth, version: Math.max(version, known?.version ?? 0) })
  }

  /** The part is given as a whole, once everything is in. */
  #whole(growth: Growth<Listener>, version: number): void {
    this.#before.set(growth.part.id, undefined)
    this.#events.push({ event: { type: "message.part.updated", properties: { part: growth.part } }, version })
  }

  /** Parts are given once, as they are in the end; deltas of a part that is given as a whole are in it. */
  #assembled(touched: Map<string, Touched<Listener>>): Tagged[] {
    const last = new Map<string, { part: Part; version: number }>()
    for (const { event, version } of this.#events) {
      if (event.type === "message.part.updated") {
        last.set(event.properties.part.id, { part: event.properties.part, version })
      }
    }
    const given = new Map<string, string>()
    return this.#events.flatMap(({ event, version }): Tagged[] => {
      if (event.type === "message.part.delta" && this.#before.has(event.properties.partID)) return []
      if (event.type === "message.part.removed") given.delete(event.properties.partID)
      if (event.type === "message.removed") {
        for (const [partID, messageID] of given) {
          if (messageID === event.properties.messageID) given.delete(partID)
        }
      }
      if (event.type !== "message.part.updated") return [{ event, version }]
      const { id, messageID } = event.properties.part
      if (given.has(id)) return []
      given.set(id, messageID)
      const whole = touched.get(id) ?? last.get(id)!
      const properties = { part: whole.part }
      return [{ event: { ...event, properties }, version: Math.max(version, whole.version) }]
    })
  }
}
