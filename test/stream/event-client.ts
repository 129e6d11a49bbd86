import {
  type Message,
  type Part,
  type Session,
  StemmaError,
  type StemmaEvent,
  UserSummary,
} from "../../src/protocol/index.ts"
import { growingField, grownText, withGrownText } from "../../src/session/replica/grow.ts"
import { ifFound } from "../../src/stores/if-found.ts"
import type { Store } from "../../src/stores/store.ts"
import { cursorVersion } from "../../src/stream/subscriber/cursor-version.ts"

interface ClientMessage {
  info: Message
  parts: Map<string, Part>
}

type Delta = Extract<StemmaEvent, { type: "message.part.delta" }>["properties"]

interface ClientSession {
  info: Session
  messages: Map<string, ClientMessage>
  /** The store's version when the history was read. Events up to this version may be about messages that are gone. */
  readAt: number
}

/**
 * A client that applies events only: it stores messages and parts by id and appends deltas, and throws if a delta does
 * not begin where the text ends. It reads the history of a session once, at the first event of the session.
 */
export class EventClient {
  readonly sessions = new Map<string, ClientSession>()
  readonly log: string[] = []
  /** Parts that the client read from the store. They may be ahead of the events. */
  readonly #read = new Set<string>()
  readonly #store: () => Store
  /** All events up to this version were applied. */
  #appliedTo = 0

  constructor(store: () => Store) {
    this.#store = store
  }

  /** Applies the event of a frame, with the frame's cursor if it has one. */
  async apply(event: StemmaEvent, cursor?: string): Promise<void> {
    this.log.push(JSON.stringify(event).slice(0, 150))
    await this.#put(event)
    if (cursor !== undefined) this.#appliedTo = cursorVersion(cursor)
  }

  async #put(event: StemmaEvent): Promise<void> {
    // Live text may be ahead of the history, so a client that skipped its event would miss the text.
    if (event.type === "message.part.updated") await this.#loadUnknown(event.properties.part.sessionID)
    if (event.type === "message.part.delta") await this.#loadUnknown(event.properties.sessionID)
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

  #messages(sessionID: string): Map<string, ClientMessage> | undefined {
    return this.sessions.get(sessionID)?.messages
  }

  /** True while the events are older than the history that was read. */
  #isBehind(sessionID: string): boolean {
    return this.#appliedTo < (this.sessions.get(sessionID)?.readAt ?? 0)
  }

  async #loadUnknown(sessionID: string): Promise<void> {
    if (this.sessions.has(sessionID)) return
    const info = await ifFound(this.#store().session(sessionID))
    if (info) await this.#load(info)
  }

  async #load(info: Session): Promise<void> {
    const messages = await storedMessages(this.#store(), info.id)
    if (!messages) return
    this.sessions.set(info.id, { info, messages, readAt: cursorVersion(await this.#store().cursor()) })
    for (const { parts } of messages.values()) for (const id of parts.keys()) this.#read.add(id)
  }

  /** The first difference from the store; undefined if there is none. */
  async difference(sessionID: string): Promise<string | undefined> {
    const { seq: _seq, ...info } = await this.#store().session(sessionID)
    const known = this.sessions.get(sessionID)
    if (!known) return `${sessionID} is not known to the client`
    const { seq: _clientSeq, ...clientInfo } = known.info
    const expected = sorted(info, (await storedMessages(this.#store(), sessionID))!)
    const actual = sorted(clientInfo, known.messages)
    const at = expected.findIndex((line, index) => line !== actual[index])
    if (at < 0 && expected.length === actual.length) return undefined
    return `${sessionID}: expected ${expected[at]}\ngot ${actual[at < 0 ? expected.length : at]}`
  }
}

function isKnown(part: Part, { field, offset, delta }: Delta): boolean {
  return growingField(part) !== field || grownText(part).length >= offset + delta.length
}

async function storedMessages(store: Store, id: string): Promise<Map<string, ClientMessage> | undefined> {
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
 * The session and its messages by id, one line for each. Summaries are left out, because no event reports a removed
 * note.
 */
function sorted(session: unknown, messages: Map<string, ClientMessage>): string[] {
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
