import type {
  InboxItem,
  LeftTail,
  MessageBody,
  PartBody,
  PermissionRequest,
  Session,
  Todo,
} from "../../protocol/index.ts"
import { grownText, withGrownText } from "../../session/replica/grow.ts"
import type { Holder } from "../store.ts"

/** A piece of growing text of an open part, as one commit added it. */
export interface PlainPiece {
  offset: number
  text: string
  version: number
}

export interface PlainPart {
  /** The value of the part's row, without the text of its pieces. */
  body: PartBody
  version: number
  /** Orders parts by the time they were first put into the store. The copy in a fork keeps the number. */
  serial: number
  /** Empty once the message is sealed. */
  pieces: PlainPiece[]
}

/**
 * A message with its parts. Only an open message changes, and only one session has it. A sealed message is never
 * changed in place, so several histories may refer to the same object.
 */
export interface PlainMessage {
  /** Identifies the message: equal in every session that shares it, and different for every other message. */
  origin: string
  /** The id of the session that wrote the message. */
  writer: string
  body: MessageBody
  version: number
  sealed: boolean
  parts: PlainPart[]
}

export interface PlainNote {
  position: number
  messageID: string
  key: string
  /** `null` removes the note. */
  value: unknown
  /** How many messages the history had when the note was written. */
  at: number
  /** The id of the session that wrote the note. A fork also has notes of its source. */
  writer: string
  version: number
}

/**
 * A left tail: a history that a revert left, with all its messages. Its first `keep` messages are in the present
 * history too.
 */
export interface PlainTail {
  segment: string
  keep: number
  messages: PlainMessage[]
  notes: PlainNote[]
}

export interface PlainPermission {
  request: PermissionRequest
  version: number
  /** Orders requests by the time they were first put into the store. */
  serial: number
}

/** The record of an inbox item that a run has taken. */
export interface TakenItem {
  /** The hash of the item's payload. */
  hash: string
  time: number
}

export interface PlainLease {
  holder: Holder
  expiresAt: number
}

export type SessionFields = Omit<Session, "history" | "seq">

export interface PlainSession {
  info: SessionFields
  /** The version of the session row. */
  version: number
  /** The newest version of any row of the session. */
  newest: number
  seq: number
  /** Orders sessions by creation. */
  serial: number
  /** When the session was put into the store, by the store's clock. */
  begun: number
  importing: boolean
  segment: string
  epoch: number
  messages: PlainMessage[]
  /** The position of each message in `messages`, by message id. */
  positions: Map<string, number>
  /** How many messages at the beginning were written by the source of this fork. */
  base: number
  /** The notes of the present history, in the order in which they were written. */
  notes: PlainNote[]
  left: PlainTail[]
  /** The changes of the epoch, and how many messages a replica may keep after each change. */
  moves: { version: number; keep: number }[]
  todos: Todo[]
  /** The version of the last `todos.put`; 0 before the first. `inboxVersion` likewise. */
  todosVersion: number
  permissions: PlainPermission[]
  inbox: InboxItem[]
  inboxVersion: number
  taken: Map<string, TakenItem>
  /** The fence of the newest lease; 0 before the first claim. */
  fence: number
  lease: PlainLease | undefined
}

/** The record of a removed session, so that replicas learn of the removal. */
export interface Tombstone {
  sessionID: string
  serial: number
  version: number
  parentID: string | undefined
  directory: string
  /** The ids of the ancestors at the time of the removal, from the parent upward. */
  ancestors: string[]
  /** When the session was removed, by the store's clock. */
  time: number
}

/**
 * A whole store as plain data. Only a `Change` modifies it. A session that is not in the state does not exist, so a
 * driver that keeps sessions elsewhere loads them before it calls functions of this folder.
 */
export interface PlainState {
  readonly storeID: string
  version: number
  sessions: Map<string, PlainSession>
  tombstones: Map<string, Tombstone>
  /** The session id for each unique name: the key of an agent, or the secret of a share. */
  names: Map<string, string>
  /** All segment ids that were ever used. */
  segments: Set<string>
}

export function createState(storeID: string): PlainState {
  return {
    storeID,
    version: 0,
    sessions: new Map(),
    tombstones: new Map(),
    names: new Map(),
    segments: new Set(),
  }
}

type NamedFields = Pick<SessionFields, "agent" | "key" | "share">

/** Returns the unique name for a session's key, or undefined if the session has no key. */
export function keyName({ agent = "", key }: NamedFields): string | undefined {
  return key === undefined ? undefined : JSON.stringify(["key", agent, key])
}

export function shareName(secret: string): string {
  return JSON.stringify(["share", secret])
}

/** Returns the unique names of a session. */
export function namesOf(fields: NamedFields): string[] {
  const key = keyName(fields)
  const secret = fields.share?.secret
  return [...(key === undefined ? [] : [key]), ...(secret === undefined ? [] : [shareName(secret)])]
}

/** Returns the session as callers see it. Nested values are not copied. */
export function sessionInfo(session: PlainSession): Session {
  return {
    ...session.info,
    history: {
      segment: session.segment,
      count: session.messages.length,
      epoch: session.epoch,
      left: session.left.map(leftTail),
    },
    seq: session.seq,
  }
}

export function leftTail(tail: PlainTail): LeftTail {
  return { segment: tail.segment, keep: tail.keep, count: tail.messages.length }
}

/** Returns all lists of messages that a session reaches: its history, then its left tails, oldest first. */
export function reachedLists(session: PlainSession): PlainMessage[][] {
  return [session.messages, ...session.left.map((tail) => tail.messages)]
}

/** Returns the newest version among a message, its parts and their pieces. */
export function newestVersion(message: PlainMessage): number {
  let newest = message.version
  for (const part of message.parts) {
    newest = Math.max(newest, part.version, part.pieces.at(-1)?.version ?? 0)
  }
  return newest
}

/** Returns the length of the growing field of a part, including its pieces, in UTF-16 units. */
export function presentLength(part: PlainPart): number {
  const last = part.pieces.at(-1)
  return last ? last.offset + last.text.length : grownText(part.body).length
}

/** Returns the part with the text of its pieces. */
export function grownBody(part: PlainPart): PartBody {
  if (part.pieces.length === 0) return part.body
  return withGrownText(part.body, grownText(part.body) + part.pieces.map((piece) => piece.text).join(""))
}
