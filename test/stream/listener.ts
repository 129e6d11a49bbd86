import {
  type Message,
  type Part,
  type Session,
  StemmaError,
  type StemmaEvent,
  UserSummary,
} from "../../src/protocol/index.ts"
import { growingField, grownText, withGrownText } from "../../src/session/replica/grow.ts"
import type { Store } from "../../src/stores/store.ts"
import { cursorVersion } from "../../src/stream/subscriber/cursor-version.ts"

interface HeardMessage {
  info: Message
  parts: Map<string, Part>
}

type Delta = Extract<StemmaEvent, { type: "message.part.delta" }>["properties"]

interface HeardSession {
  info: Session
  messages: Map<string, HeardMessage>
  /** The version of the store when the history was read: events up to there may be about what is gone by then. */
  readAt: number
}

/**
 * A client that only listens: it puts what it is given by id and concatenates deltas, and refuses one that does not
 * begin where the text ends. Of a session that it has not heard of it reads the history once.
 */
export class Listener {
  readonly sessions = new Map<string, HeardSession>()
  readonly log: string[] = []
  /** Parts that it read itself: they may be ahead of the events. */
  readonly #read = new Set<string>()
  readonly #store: () => Store
  /** All events up to this version were heard. */
  #heardTo = 0

  constructor(store: () => Store) {
    this.#store = store
  }

  /** A frame's event, with its cursor if it has one. */
  async hear(event: StemmaEvent, cursor?: string): Promise<void> {
    this.log.push(JSON.stringify(event).slice(0, 150))
    await this.#put(event)
    if (cursor !== undefined) this.#heardTo = cursorVersion(cursor)
  }

  async #put(event: StemmaEvent): Promise<void> {
    switch (event.type) {
      case "session.created":
      case "session.updated": {
        const { info } = event.properties
        const known = this.sessions.get(info.id)
        if (known) known.info = info
        else await this.#load(info)
        return
      }
      case "session.deleted":
        this.sessions.delete(event.properties.info.id)
        return
      case "message.updated": {
        const { info } = event.properties
        const message = this.#messages(info.sessionID)?.get(info.id)
        if (message) message.info = info
        else this.#messages(info.sessionID)?.set(info.id, { info, parts: new Map() })
        return
      }
      case "message.removed":
        this.#messages(event.properties.sessionID)?.delete(event.properties.messageID)
        return
      case "message.part.updated": {
        const { part } = event.properties
        const messages = this.#messages(part.sessionID)
        if (!messages) return
        const message = messages.get(part.messageID)
        if (!message && this.#isBehind(part.sessionID)) return
        if (!message) throw new Error(`part ${part.id} came before its message ${part.messageID}`)
        message.parts.set(part.id, part)
        this.#read.delete(part.id)
        return
      }
      case "message.part.removed": {
        const { sessionID, messageID, partID } = event.properties
        this.#messages(sessionID)?.get(messageID)?.parts.delete(partID)
        return
      }
      case "message.part.delta":
        this.#append(event.properties)
        return
      default:
    }
  }

  #append(delta: Delta): void {
    const messages = this.#messages(delta.sessionID)
    if (!messages) return
    const message = messages.get(delta.messageID)
    const part = message?.parts.get(delta.partID)
    if (!part && this.#isBehind(delta.sessionID)) return
    if (!message || !part) throw new Error(`a delta came before its part: ${JSON.stringify(delta)}`)
    if (this.#read.has(part.id) && isKnown(part, delta)) return
    const text = grownText(part)
    if (growingField(part) !== delta.field || text.length !== delta.offset) {
      throw new Error(`a delta does not go on from ${JSON.stringify(part)}: ${JSON.stringify(delta)}`)
    }
    message.parts.set(part.id, withGrownText(part, text + delta.delta))
  }

  #messages(sessionID: string): Map<string, HeardMessage> | undefined {
    return this.sessions.get(sessionID)?.messages
  }

  /** True while the events are of before the history was read. */
  #isBehind(sessionID: string): boolean {
    return this.#heardTo < (this.sessions.get(sessionID)?.readAt ?? 0)
  }

  async #load(info: Session): Promise<void> {
    const messages = await storedMessages(this.#store(), info.id)
    if (!messages) return
    this.sessions.set(info.id, { info, messages, readAt: cursorVersion(await this.#store().cursor()) })
    for (const { parts } of messages.values()) for (const id of parts.keys()) this.#read.add(id)
  }

  /** Where it differs from the store; undefined if it does not. */
  async difference(sessionID: string): Promise<string | undefined> {
    const { seq: _seq, ...info } = await this.#store().session(sessionID)
    const heard = this.sessions.get(sessionID)
    if (!heard) return `${sessionID} was not heard of`
    const { seq: _heardSeq, ...heardInfo } = heard.info
    const expected = sorted(info, (await storedMessages(this.#store(), sessionID))!)
    const actual = sorted(heardInfo, heard.messages)
    const at = expected.findIndex((line, index) => line !== actual[index])
    if (at < 0 && expected.length === actual.length) return undefined
    return `${sessionID}: expected ${expected[at]}\nheard ${actual[at < 0 ? expected.length : at]}`
  }
}

function isKnown(part: Part, { field, offset, delta }: Delta): boolean {
  return growingField(part) !== field || grownText(part).length >= offset + delta.length
}

async function storedMessages(store: Store, id: string): Promise<Map<string, HeardMessage> | undefined> {
  try {
    const { items } = await store.history(id, { take: "start", limit: 1000 })
    return new Map(
      items.map(({ message, parts, notes }) => [
        message.id,
        {
          info: withSummary(message, notes?.summary),
          parts: new Map(parts.map((part) => [part.id, part])),
        },
      ]),
    )
  } catch (error) {
    if (StemmaError.is(error, "not_found")) return undefined
    throw error
  }
}

function withSummary(message: Message, note: unknown): Message {
  const summary = UserSummary.safeParse(note)
  return message.role === "user" && summary.success ? { ...message, summary: summary.data } : message
}

/**
 * The session and its messages by id, a line for each. Summaries are left out: no event tells that a note was taken away.
 */
function sorted(session: unknown, messages: Map<string, HeardMessage>): string[] {
  const byID = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
  const lines = [...messages.values()]
    .map(({ info, parts }) => ({
      id: info.id,
      info: { ...info, summary: 0 },
      parts: [...parts.values()].sort(byID),
    }))
    .sort(byID)
  return [session, ...lines].map((line) => JSON.stringify(ordered(line)))
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, field]) => [key, ordered(field)]),
  )
}
