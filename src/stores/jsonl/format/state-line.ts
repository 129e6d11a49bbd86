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

/** Messages of another program that were adopted from byte ranges of the main file. */
export interface Adoption {
  at: [chain: number, position: number]
  version: number
  ranges: [from: number, to: number][]
  /** The serial of the first part. The following parts have the following serials. */
  serial: number
}

export interface ChainLink {
  segment: string
  /** How many messages of the previous segment were kept. */
  keep: number
}

/** A note and the index of the segment in which it was written. */
type StoredNote = PlainNote & { chain: number }

interface OpenMessage {
  at: [chain: number, position: number]
  body: MessageBody
  version: number
  parts: PlainPart[]
}

/** The first line of a state file: everything of a session except its sealed messages. */
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
  /**
   * Another program wrote the main file up to this byte, so no line before it is a line of this driver, even if it
   * looks like one.
   */
  foreignEnd: number
  adopted: Adoption[]
  notes: StoredNote[]
  open?: OpenMessage
  todos: Todo[]
  todosVersion: number
  /** Files of earlier versions of Stemma have no serial. */
  permissions: (Omit<PlainPermission, "serial"> & { serial?: number })[]
  inbox: InboxItem[]
  inboxVersion: number
  taken: [id: string, item: TakenItem][]
  fence: number
  lease?: PlainLease
}

/** What one commit did to a session, except for the messages that it sealed. All rows in the line have version `v`. */
export interface CommitLine {
  type: "commit"
  v: number
  seq: number
  /** The fields of the session row that changed, and the fields that were removed. */
  info?: { set?: Partial<SessionFields>; unset?: string[] }
  published?: true
  chain?: ChainLink[]
  /** One number for each increment of the epoch: how many messages a replica may keep after it. */
  moves?: number[]
  /** The open message was appended, or its fields changed. */
  open?: { at: [chain: number, position: number]; body: MessageBody; parts: number }
  /** Changed parts of the open message. A replaced part keeps its first `kept` pieces. */
  parts?: { index: number; body: PartBody; serial: number; kept?: number }[]
  pieces?: [index: number, offset: number, text: string][]
  notes?: (Omit<PlainNote, "version" | "writer"> & { chain: number })[]
  todos?: Todo[]
  permissions?: PermissionRequest[]
  /** The serial of each request. Files of earlier versions of Stemma have none. */
  asked?: number[]
  admitted?: InboxItem[]
  taken?: [id: string, item: TakenItem][]
  adopt?: Omit<Adoption, "version">
}

/** The holder of the lease. Without a holder, the lease was released. */
export interface LeaseLine {
  type: "lease"
  fence: number
  holder?: Holder
  expiresAt?: number
}

/** The ids of taken inbox items whose records expired. */
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

/** Returns each note once, with the index of the segment in which it was written. */
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

/** Returns the difference of two session rows. */
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
