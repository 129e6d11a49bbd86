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

/** A bit of growing text of an open part, as it was committed. */
export interface PlainPiece {
  offset: number
  text: string
  version: number
}

export interface PlainPart {
  /** The row's own value, without what grew by pieces. */
  body: PartBody
  version: number
  /** Grows in the order in which parts were first put into the store; a fork's copy keeps it. */
  serial: number
  /** Empty once the message is sealed. */
  pieces: PlainPiece[]
}

/**
 * A message with its parts. It changes only while it is open, and then only one session has it; sealed ones are never
 * changed in place, so that histories may hold the same object.
 */
export interface PlainMessage {
  /** The same in every session that has this message, and in no other message. */
  origin: string
  /** The session that wrote it. */
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
  /** `null`: there is no note from here on. */
  value: unknown
  /** How many messages the history had when the note was written. */
  at: number
  /** The session that wrote it: a fork has its source's notes too. */
  writer: string
  version: number
}

/** A history that a revert left: all its messages, of which the first `keep` are still in the present one. */
export interface PlainTail {
  segment: string
  keep: number
  messages: PlainMessage[]
  notes: PlainNote[]
}

export interface PlainPermission {
  request: PermissionRequest
  version: number
  /** Grows in the order in which requests were first put into the store. */
  serial: number
}

/** What is remembered of an inbox item after it was taken. */
export interface TakenItem {
  /** Hash of the payload. */
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
  /** The newest version of anything of the session. */
  newest: number
  seq: number
  /** Grows in the order of creation. */
  serial: number
  /** When it was put into the store, by the store's clock. */
  begun: number
  importing: boolean
  segment: string
  epoch: number
  messages: PlainMessage[]
  /** Positions of the messages by id. */
  positions: Map<string, number>
  /** The first so many messages were written by the session that this one was forked from. */
  base: number
  /** In order of writing; only those that stand at or before the end of the history. */
  notes: PlainNote[]
  left: PlainTail[]
  /** The changes of the epoch: what a replica may keep after each. */
  moves: { version: number; keep: number }[]
  todos: Todo[]
  /** 0 while they were never put; the same for `inboxVersion`. */
  todosVersion: number
  permissions: PlainPermission[]
  inbox: InboxItem[]
  inboxVersion: number
  taken: Map<string, TakenItem>
  /** The fence of the newest lease, 0 before the first. */
  fence: number
  lease: PlainLease | undefined
}

/** What stays of a removed session, so that replicas hear of it. */
export interface Tombstone {
  sessionID: string
  serial: number
  version: number
  parentID: string | undefined
  directory: string
  /** From the parent upward, as they were. */
  ancestors: string[]
  /** When it was removed, by the store's clock. */
  time: number
}

/**
 * A whole store as plain data. Everything in it is changed by a `Change` only. A driver that keeps sessions elsewhere
 * puts them in before it asks about them: what is not in here does not exist.
 */
export interface PlainState {
  readonly storeID: string
  version: number
  sessions: Map<string, PlainSession>
  tombstones: Map<string, Tombstone>
  /** Which session has a name: an agent's key, or the secret of a share. */
  names: Map<string, string>
  /** Every segment id that was used. */
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

/** The name under which a session's key is unique, if it has one. */
export function keyName({ agent = "", key }: NamedFields): string | undefined {
  return key === undefined ? undefined : JSON.stringify(["key", agent, key])
}

export function shareName(secret: string): string {
  return JSON.stringify(["share", secret])
}

/** All names by which a session is found, each of them its own. */
export function namesOf(fields: NamedFields): string[] {
  const key = keyName(fields)
  const secret = fields.share?.secret
  return [...(key === undefined ? [] : [key]), ...(secret === undefined ? [] : [shareName(secret)])]
}

/** The session as callers see it; nested values are still the store's own. */
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

/** All lists of messages that a session reaches: its history, then the tails that reverts left, oldest first. */
export function reachedLists(session: PlainSession): PlainMessage[][] {
  return [session.messages, ...session.left.map((tail) => tail.messages)]
}

/** The newest version among a message, its parts and their pieces. */
export function newestVersion(message: PlainMessage): number {
  let newest = message.version
  for (const part of message.parts) {
    newest = Math.max(newest, part.version, part.pieces.at(-1)?.version ?? 0)
  }
  return newest
}

/** How long the growing field of a part is now, in UTF-16 units. */
export function presentLength(part: PlainPart): number {
  const last = part.pieces.at(-1)
  return last ? last.offset + last.text.length : grownText(part.body).length
}

/** The part with everything that has grown. */
export function grownBody(part: PlainPart): PartBody {
  if (part.pieces.length === 0) return part.body
  return withGrownText(part.body, grownText(part.body) + part.pieces.map((piece) => piece.text).join(""))
}
