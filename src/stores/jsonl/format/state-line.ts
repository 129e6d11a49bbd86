import type { InboxItem, MessageBody, PartBody, PermissionRequest, Todo } from "../../../protocol/index.ts"
import type {
  PlainLease,
  PlainNote,
  PlainPart,
  PlainPermission,
  PlainSession,
  SessionFields,
  TakenItem,
} from "../../plain/index.ts"
import type { Holder } from "../../store.ts"
import { chainOf } from "./summary.ts"

export const stateFormat = 1

/** Messages of a foreign program, taken into the history from ranges of bytes of the main file. */
export interface Adoption {
  at: [chain: number, position: number]
  version: number
  ranges: [from: number, to: number][]
  /** The serial of the first part; the others follow one by one. */
  serial: number
}

export interface ChainLink {
  segment: string
  /** How many messages of the segment before were kept. */
  keep: number
}

/** A note and the how-manieth segment it was written in. */
type StoredNote = PlainNote & { chain: number }

interface OpenMessage {
  at: [chain: number, position: number]
  body: MessageBody
  version: number
  parts: PlainPart[]
}

/** Everything of a session but its sealed messages: the first line of a state file. */
export interface SnapshotLine {
  type: "snapshot"
  format: number
  store: string
  sessionID: string
  family: string
  info: SessionFields
  version: number
  newest: number
  seq: number
  serial: number
  begun: number
  importing: boolean
  epoch: number
  base: number
  chain: ChainLink[]
  moves: { version: number; keep: number }[]
  /** The main file was there before us up to here: none of those lines is ours, even if one looks so. */
  foreignEnd: number
  adopted: Adoption[]
  notes: StoredNote[]
  open?: OpenMessage
  todos: Todo[]
  todosVersion: number
  /** Files of earlier versions have no serial. */
  permissions: (Omit<PlainPermission, "serial"> & { serial?: number })[]
  inbox: InboxItem[]
  inboxVersion: number
  taken: [id: string, item: TakenItem][]
  fence: number
  lease?: PlainLease
}

/** What one commit did to the session, but for the messages that it sealed. Every row in it has the version `v`. */
export interface CommitLine {
  type: "commit"
  v: number
  seq: number
  /** The session row changed: fields that have another value, fields that went. */
  info?: { set?: Partial<SessionFields>; unset?: string[] }
  published?: true
  chain?: ChainLink[]
  /** The epoch grew by as many; what a replica may keep after each. */
  moves?: number[]
  /** The open message began, or its fields changed. */
  open?: { at: [chain: number, position: number]; body: MessageBody; parts: number }
  /** Parts of the open message; `kept` pieces stay with a replaced one. */
  parts?: { index: number; body: PartBody; serial: number; kept?: number }[]
  pieces?: [index: number, offset: number, text: string][]
  notes?: (Omit<PlainNote, "version" | "writer"> & { chain: number })[]
  todos?: Todo[]
  permissions?: PermissionRequest[]
  /** The serial of each of them; files of earlier versions have none. */
  asked?: number[]
  admitted?: InboxItem[]
  taken?: [id: string, item: TakenItem][]
  adopt?: Omit<Adoption, "version">
}

/** Who holds the session; without a holder it was given back. */
export interface LeaseLine {
  type: "lease"
  fence: number
  holder?: Holder
  expiresAt?: number
}

/** Taken items that need not be remembered any longer. */
interface ForgetLine {
  type: "forget"
  taken: string[]
}

export type StateLine = SnapshotLine | CommitLine | LeaseLine | ForgetLine

export function snapshotLine(
  session: PlainSession,
  known: { store: string; family: string; foreignEnd: number; adopted: Adoption[] },
): SnapshotLine {
  const {
    positions: _positions,
    messages,
    left: _left,
    segment: _segment,
    taken,
    lease,
    notes: _notes,
    ...rest
  } = session
  const chain = chainOf(session)
  const open = messages.at(-1)
  return {
    type: "snapshot",
    format: stateFormat,
    store: known.store,
    sessionID: session.info.id,
    family: known.family,
    ...rest,
    chain: chain.map(({ segment, keep }) => ({ segment, keep })),
    foreignEnd: known.foreignEnd,
    adopted: known.adopted,
    notes: storedNotes(session),
    ...(open && !open.sealed
      ? {
          open: {
            at: [chain.length - 1, messages.length - 1],
            body: open.body,
            version: open.version,
            parts: open.parts,
          },
        }
      : {}),
    taken: [...taken],
    ...(lease ? { lease } : {}),
  }
}

/** Each note once, with the segment of the chain in which it was written. */
function storedNotes(session: PlainSession): StoredNote[] {
  const lists = [...session.left.map((tail) => tail.notes), session.notes]
  const seen = new Set<PlainNote>()
  const stored: StoredNote[] = []
  for (const [chain, notes] of lists.entries()) {
    for (const note of notes) {
      if (seen.has(note)) continue
      seen.add(note)
      stored.push({ ...note, chain })
    }
  }
  return stored
}

/** The part of a session row that changed. */
export function infoDifference(before: SessionFields, after: SessionFields): NonNullable<CommitLine["info"]> {
  const set: Record<string, unknown> = {}
  const unset: string[] = []
  const old = before as unknown as Record<string, unknown>
  const fresh = after as unknown as Record<string, unknown>
  for (const name of new Set([...Object.keys(old), ...Object.keys(fresh)])) {
    if (old[name] === fresh[name] || JSON.stringify(old[name]) === JSON.stringify(fresh[name])) continue
    if (fresh[name] === undefined) unset.push(name)
    else set[name] = fresh[name]
  }
  return {
    ...(Object.keys(set).length > 0 ? { set: set as Partial<SessionFields> } : {}),
    ...(unset.length > 0 ? { unset } : {}),
  }
}
