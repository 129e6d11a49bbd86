import { StemmaError } from "../../../protocol/index.ts"
import { notesUpTo, type PlainMessage, type PlainNote, type PlainSession } from "../../plain/index.ts"
import { decodeForeign, type ForeignContext } from "../foreign/foreign-message.ts"
import { decodeMessage, entryID, groupMessages, type MessageLines } from "../format/decode.ts"
import { checkHeader, foreignContext } from "../format/header.ts"
import { badLine, type Line } from "../format/lines.ts"
import type { Adoption, ChainLink, CommitLine, SnapshotLine, StateLine } from "../format/state-line.ts"
import { stateFormat } from "../format/state-line.ts"
import { type AppendState, appendStateOf } from "../journal/append-state.ts"
import { Replay, type ReplayedOpenMessage } from "../journal/replay.ts"

interface SessionLines {
  folder: string
  mainFile: string
  stateFile: string
  main: Line[]
  state: Line[]
  /** True if the last line of the main file has no line feed. */
  unended: boolean
}

/** A session as it was read from its files. */
export interface LoadedSession {
  session: PlainSession
  appendState: AppendState
  /** The byte offset of the last line of each message of the present history. */
  ends: number[]
}

/** The history at one segment of the chain, with what a writer needs to know about its lines. */
interface History {
  messages: PlainMessage[]
  notes: PlainNote[]
  /** The id of the last line of each message. */
  leaves: string[]
  ends: number[]
}

/** Builds a session from the lines of its two files. */
export function sessionFromLines(lines: SessionLines): LoadedSession {
  checkHeader(lines.main[0]?.value, lines.mainFile)
  const { session, chain, adopted, notes, open, snapshot } = stateFromLines(lines.state, lines.stateFile)
  const { family, foreignEnd } = snapshot
  const structure = { sessionID: session.info.id, foreignEnd, chain, adopted, notes }
  const histories = buildHistories(lines, structure)
  const present = histories.at(-1)!
  session.messages = present.messages
  session.notes = present.notes
  session.left = histories.slice(0, -1).map(({ messages, notes }, index) => ({
    segment: chain[index]!.segment,
    keep: chain[index + 1]!.keep,
    messages,
    notes,
  }))
  const written = present.messages.length
  if (open && open.chain === chain.length - 1 && open.position === written) {
    open.message.origin = `${session.segment}/${open.position}`
    session.messages.push(open.message)
  }
  session.positions = new Map(session.messages.map((message, position) => [message.body.id, position]))
  const appendState = appendStateOf(session, {
    ...lines,
    family,
    foreignEnd,
    adopted,
    leaves: present.leaves,
    written,
  })
  return { session, appendState, ends: present.ends }
}

/** The part of a session that the state file holds. */
interface LoadedState {
  /** The session without messages, notes and left tails. */
  session: PlainSession
  snapshot: SnapshotLine
  chain: ChainLink[]
  adopted: Adoption[]
  /** The notes of each segment of the chain. */
  notes: PlainNote[][]
  open: ReplayedOpenMessage | undefined
}

export function stateFromLines(state: Line[], stateFile: string): LoadedState {
  const snapshot = checkSnapshot(state, stateFile)
  const lines = state.map((line) => line.value as unknown as StateLine)
  const commits = lines.filter((line): line is CommitLine => line.type === "commit")
  const chain = [...snapshot.chain, ...commits.flatMap((line) => line.chain ?? [])]
  const adopted = [
    ...snapshot.adopted,
    ...commits.flatMap((line) => (line.adopt ? [{ ...line.adopt, version: line.v }] : [])),
  ]
  const notes: PlainNote[][] = chain.map(() => [])
  for (const { chain: at, ...note } of snapshot.notes) notes[at]?.push(note)
  const session = startSession(snapshot)
  const replay = new Replay(session, {
    open: openTrack(snapshot),
    addNote: (note, at) => notes[at]?.push(note),
  })
  for (const line of lines) replay.take(line)
  session.segment = chain.at(-1)!.segment
  return { session, snapshot, chain, adopted, notes, open: replay.open }
}

function checkSnapshot(state: Line[], stateFile: string): SnapshotLine {
  const first = state[0]?.value as unknown as SnapshotLine | undefined
  if (first?.type !== "snapshot" || !Array.isArray(first.chain) || first.chain.length === 0) {
    throw badLine(stateFile, state[0]?.number ?? 1, "is not the snapshot line that a state file begins with")
  }
  if (first.format <= stateFormat) return first
  throw new StemmaError(
    "unsupported",
    `${stateFile} has format ${first.format}, but this version of Stemma reads formats up to ${stateFormat}. Update Stemma.`,
    { details: { file: stateFile, format: first.format } },
  )
}

function startSession(snapshot: SnapshotLine): PlainSession {
  return {
    info: snapshot.info,
    version: snapshot.version,
    newest: snapshot.newest,
    seq: snapshot.seq,
    serial: snapshot.serial,
    begun: snapshot.begun,
    importing: snapshot.importing,
    segment: "",
    epoch: snapshot.epoch,
    messages: [],
    positions: new Map(),
    base: snapshot.base,
    notes: [],
    left: [],
    moves: [...snapshot.moves],
    todos: snapshot.todos,
    todosVersion: snapshot.todosVersion,
    permissions: snapshot.permissions.map((permission, index) => ({
      ...permission,
      serial: permission.serial ?? index,
    })),
    inbox: [...snapshot.inbox],
    inboxVersion: snapshot.inboxVersion,
    taken: new Map(snapshot.taken),
    fence: snapshot.fence,
    lease: snapshot.lease,
  }
}

function openTrack({ open, sessionID }: SnapshotLine): ReplayedOpenMessage | undefined {
  if (!open) return undefined
  const { at, body, version, parts } = open
  const message: PlainMessage = { origin: "", writer: sessionID, body, version, sealed: false, parts }
  return { chain: at[0], position: at[1], message }
}

interface Structure {
  sessionID: string
  foreignEnd: number
  chain: ChainLink[]
  adopted: Adoption[]
  notes: PlainNote[][]
}

function buildHistories(lines: SessionLines, structure: Structure): History[] {
  const { chain, adopted, sessionID } = structure
  const context = foreignContext(lines.main[0]?.value, lines.folder)
  const foreign = adopted.map((adoption) => linesIn(lines.main, adoption.ranges))
  const own = new Map<string, MessageLines>()
  for (const group of groupMessages(lines.main.filter((line) => line.from >= structure.foreignEnd))) {
    own.set(group.extra.at.join("/"), group)
  }
  const adoptedAt = new Map(adopted.map(({ at }, index) => [at.join("/"), index]))
  const histories: History[] = []
  for (const [index, { segment, keep }] of chain.entries()) {
    const before = histories[index - 1]
    const history: History = {
      messages: before?.messages.slice(0, keep) ?? [],
      notes: [...(before ? notesUpTo(before.notes, keep) : []), ...structure.notes[index]!],
      leaves: before?.leaves.slice(0, keep) ?? [],
      ends: before?.ends.slice(0, keep) ?? [],
    }
    for (;;) {
      const position = history.messages.length
      const group = own.get(`${index}/${position}`)
      const adoption = adoptedAt.get(`${index}/${position}`)
      if (group) {
        const message = decodeMessage(group, { segment, sessionID })
        if (!message) throw badLine(lines.mainFile, group.first.number, "is not a message that can be read")
        own.delete(`${index}/${position}`)
        history.messages.push(message)
        const last = group.further.at(-1) ?? group.first
        history.leaves.push(entryID(last) ?? message.body.id)
        history.ends.push(last.from)
      } else if (adoption !== undefined) {
        adopt(history, adopted[adoption]!, { lines: foreign[adoption]!, context, segment, sessionID })
        if (history.messages.length === position) break
      } else break
    }
    histories.push(history)
  }
  const [orphan] = own.values()
  if (orphan) throw badLine(lines.mainFile, orphan.first.number, "follows a message that is missing")
  return histories
}

function adopt(
  history: History,
  adoption: Adoption,
  from: { lines: Line[]; context: Omit<ForeignContext, "before">; segment: string; sessionID: string },
): void {
  let { serial } = adoption
  const { version } = adoption
  for (const { message, parts, lines } of decodeForeign(from.lines, {
    ...from.context,
    before: history.messages.map(({ body }) => summaryOf(body)),
  })) {
    history.leaves.push(entryID(lines.at(-1)!) ?? message.id)
    history.ends.push(lines.at(-1)!.from)
    history.messages.push({
      origin: `${from.segment}/${history.messages.length}`,
      writer: from.sessionID,
      body: message,
      version,
      sealed: true,
      parts: parts.map((body) => ({ body, version, serial: serial++, pieces: [] })),
    })
  }
}

/** Returns the facts about a message that decoding later foreign lines needs. */
export function summaryOf(body: PlainMessage["body"]): ForeignContext["before"][number] {
  const { id, role } = body
  const model = role === "user" ? body.model : { providerID: body.providerID, modelID: body.modelID }
  return { id, role, model }
}

/** Returns the lines that begin in one of the byte ranges, in the order of the ranges. */
export function linesIn(lines: Line[], ranges: [from: number, to: number][]): Line[] {
  return ranges.flatMap(([from, to]) => lines.slice(firstAt(lines, from), firstAt(lines, to)))
}

/** Returns the index of the first line that begins at or after a byte offset. */
function firstAt(lines: Line[], from: number): number {
  let low = 0
  let high = lines.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (lines[middle]!.from < from) low = middle + 1
    else high = middle
  }
  return low
}
