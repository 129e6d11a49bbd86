import { isDefaultTitle } from "../../../session/prompt/title.ts"
import type { ChangedSession, PlainMessage, PlainSession } from "../../plain/index.ts"
import { type AppendState, freeID } from "../journal/append-state.ts"
import { type EntryBase, encodeMessage, moveEntry, titleEntry } from "./entry.ts"
import { headerLine } from "./header.ts"
import { formatLines } from "./lines.ts"
import { type Adoption, type CommitLine, infoDifference, snapshotLine } from "./state-line.ts"
import { chainOf } from "./summary.ts"

/** Text to append to a session's main file and state file. */
export interface Encoded {
  main: string
  state: string
}

export interface EncodeOptions {
  version: number
  nowMs: number
  /** True if the messages are already in the main file, because another program wrote them. */
  adopted?: boolean
  /** The byte ranges of these messages. */
  adopt?: Omit<Adoption, "version">
}

/** Encodes what one commit did to a session, and updates the append state. */
export function encodeTouched(
  changed: ChangedSession,
  appendState: AppendState,
  options: EncodeOptions,
): Encoded {
  const { session } = changed
  const { version, adopt } = options
  const chain = chainOf(session)
  const links = chain.slice(appendState.left + 1).map(({ segment, keep }) => ({ segment, keep }))
  const moves = session.moves.slice(appendState.moves).map(({ keep }) => keep)
  const main = options.adopted ? [] : mainLines(session, appendState, options)
  const line: CommitLine = {
    type: "commit",
    v: version,
    seq: session.seq,
    ...(changed.sessionRow ? { info: infoDifference(appendState.info, session.info) } : {}),
    ...(changed.published ? { published: true } : {}),
    ...(links.length > 0 ? { chain: links } : {}),
    ...(moves.length > 0 ? { moves } : {}),
    ...openFields(changed, chain.length - 1),
    ...noteFields(changed),
    ...(changed.todos ? { todos: session.todos } : {}),
    ...permissionFields(changed),
    ...(changed.inbox ? inboxFields(session, appendState) : {}),
    ...(adopt ? { adopt } : {}),
  }
  markWritten(session, appendState)
  if (adopt) {
    appendState.adopted.push({ ...adopt, version })
    appendState.written = session.messages.length
  }
  return { main: formatLines(main), state: formatLines([line]) }
}

/** Encodes sealed messages, moves of the history and a new title, in the order in which they happened. */
function mainLines(session: PlainSession, appendState: AppendState, options: EncodeOptions): EntryBase[] {
  const { version, nowMs } = options
  const lines: EntryBase[] = []
  const chain = chainOf(session)
  for (let index = appendState.left; index < chain.length; index++) {
    const { segment, keep, messages } = chain[index]!
    if (index > appendState.left) {
      const parentId = appendState.leaves[keep - 1] ?? null
      const id = freeID(appendState.ids, `move-${version}`)
      lines.push(moveEntry(version, parentId, { id, nowMs }))
      appendState.leaf = id
      appendState.written = keep
      appendState.leaves.length = keep
    }
    for (const message of messages.slice(appendState.written)) {
      if (!message.sealed) break
      lines.push(...messageLines(message, { session, appendState, segment, chain: index }))
    }
  }
  const { title } = session.info
  if (title !== appendState.info.title && !isDefaultTitle(title)) {
    const id = freeID(appendState.ids, `title-${version}`)
    lines.push(titleEntry(title, { id, parentId: appendState.leaf, version, nowMs }))
    appendState.leaf = id
  }
  return lines
}

function messageLines(
  message: PlainMessage,
  context: { session: PlainSession; appendState: AppendState; segment: string; chain: number },
): EntryBase[] {
  const { appendState, segment, chain } = context
  const { lines, leaf } = encodeMessage(message, {
    at: [chain, appendState.written],
    parentId: appendState.leaf,
    segment,
    sessionID: context.session.info.id,
    freeID: (wanted) => freeID(appendState.ids, wanted),
  })
  appendState.leaf = leaf
  appendState.leaves[appendState.written] = leaf
  appendState.written++
  return lines
}

/** Returns the changed rows of the open message. A replaced part stores how many of its pieces stay. */
function openFields(changed: ChangedSession, chain: number): Partial<CommitLine> {
  const { session } = changed
  const position = session.messages.length - 1
  const message = session.messages[position]
  if (!message || message.sealed) return {}
  const here = changed.pieces.filter((added) => added.position === position)
  const parts: NonNullable<CommitLine["parts"]> = []
  for (const [index, part] of message.parts.entries()) {
    if (!changed.parts.has(`${position}/${index}`)) continue
    const offsets = here.filter((added) => added.index === index).map(({ piece }) => piece.offset)
    const first = Math.min(Number.POSITIVE_INFINITY, ...offsets)
    const kept = part.pieces.filter((piece) => piece.offset < first).length
    parts.push({ index, body: part.body, serial: part.serial, ...(kept > 0 ? { kept } : {}) })
  }
  const pieces = message.parts.flatMap((part, index): [number, number, string][] => {
    const offsets = here.filter((added) => added.index === index).map(({ piece }) => piece.offset)
    const first = Math.min(Number.POSITIVE_INFINITY, ...offsets)
    return part.pieces
      .filter((piece) => piece.offset >= first)
      .map((piece) => [index, piece.offset, piece.text])
  })
  return {
    ...(changed.messages.has(position)
      ? { open: { at: [chain, position], body: message.body, parts: message.parts.length } }
      : {}),
    ...(parts.length > 0 ? { parts } : {}),
    ...(pieces.length > 0 ? { pieces } : {}),
  }
}

function noteFields({ session, notes }: ChangedSession): Partial<CommitLine> {
  if (notes.length === 0) return {}
  const lists = [...session.left.map((tail) => tail.notes), session.notes]
  const lines = notes.map(({ version: _version, writer: _writer, ...note }, index) => {
    const chain = lists.findIndex((list) => list.includes(notes[index]!))
    return { ...note, chain: Math.max(chain, 0) }
  })
  return { notes: lines }
}

function permissionFields({ session, permissions }: ChangedSession): Partial<CommitLine> {
  const put = session.permissions.filter(({ request }) => permissions.has(request.id))
  if (put.length === 0) return {}
  return { permissions: put.map(({ request }) => request), asked: put.map(({ serial }) => serial) }
}

function inboxFields(session: PlainSession, appendState: AppendState): Partial<CommitLine> {
  const waiting = new Set(session.inbox.map((item) => item.id))
  const admitted = session.inbox.filter((item) => !appendState.inbox.has(item.id))
  const takenIDs = [...appendState.inbox].filter((id) => !waiting.has(id))
  const taken = takenIDs.flatMap((id): NonNullable<CommitLine["taken"]> => {
    const item = session.taken.get(id)
    return item ? [[id, item]] : []
  })
  return { ...(admitted.length > 0 ? { admitted } : {}), ...(taken.length > 0 ? { taken } : {}) }
}

/** Returns the append state for empty files. */
export function emptyAppendState(session: PlainSession, family: string): AppendState {
  return {
    family,
    foreignEnd: 0,
    adopted: [],
    leaf: null,
    leaves: [],
    written: 0,
    ids: new Set(),
    unended: false,
    info: { ...session.info, title: "" },
    left: 0,
    moves: 0,
    inbox: new Set(),
  }
}

/** Encodes both files of a new session with its whole history. The append state must be empty. */
export function encodeWhole(
  session: PlainSession,
  appendState: AppendState,
  options: { store: string; folder: string; parentSession?: string; version: number; nowMs: number },
): Encoded {
  const header = headerLine(session.info, options)
  const main = [header, ...mainLines(session, appendState, options)]
  markWritten(session, appendState)
  return {
    main: formatLines(main),
    state: formatLines([snapshotLine(session, { ...options, ...appendState })]),
  }
}

/** Encodes the state file of a session from the beginning. */
export function encodeState(
  session: PlainSession,
  appendState: AppendState,
  options: { store: string },
): string {
  return formatLines([snapshotLine(session, { ...options, ...appendState })])
}

/** Records in the append state that the whole session is in its files. */
export function markWritten(session: PlainSession, appendState: AppendState): void {
  appendState.info = session.info
  appendState.left = session.left.length
  appendState.moves = session.moves.length
  appendState.inbox = new Set(session.inbox.map((item) => item.id))
}
