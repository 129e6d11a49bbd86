import type { AssistantBody, MessageBody, PartBody } from "../../../protocol/index.ts"
import type { PlainMessage } from "../../plain/index.ts"
import { type Block, resultOf, type StoredPart, toContent } from "./content.ts"

/** The lines of a session's main file, as we write them. Other programs ignore `seq` and `stemma`. */
export interface EntryBase {
  type: string
  id: string
  parentId: string | null
  /** The store's version of the message. */
  seq: number
  /** ISO time. */
  timestamp: string
  [field: string]: unknown
}

/** What other programs have no place for, on the first line of a message. */
export interface MessageExtra {
  /** Where the message stands: the how-manieth segment of the session, and the position in its history. */
  at: [chain: number, position: number]
  /** The message's own fields, without its role. Its id is that of the line unless given. */
  message: Record<string, unknown>
  parts: StoredPart[]
  serials: number[]
  /** The parts' versions, where they are not all that of the message. */
  versions?: number[]
  /** Where the message was written, if not here. */
  origin?: string
  writer?: string
  role?: "user" | "assistant"
}

/** On further lines of a message: whose they are, and of which part. */
export interface FurtherExtra {
  of: string
  part: number
}

interface EncodedMessage {
  lines: EntryBase[]
  /** The id of its last line, on which the next message follows. */
  leaf: string
}

/** Where a message goes in the file. */
interface EntryPlace {
  at: [chain: number, position: number]
  parentId: string | null
  /** The segment and the session that it would come from if it was written here. */
  segment: string
  sessionID: string
  /** Gives an id that no line of the file has, the wanted one if it is free. */
  freeID(wanted: string): string
}

/** A sealed message as lines: one for the message, then one for each call's result and each compaction. */
export function encodeMessage(message: PlainMessage, place: EntryPlace): EncodedMessage {
  const parts = message.parts.map((part) => part.body)
  const { role } = message.body
  const id = place.freeID(message.body.id)
  const common = { seq: message.version, timestamp: isoTime(message.body.time.created) }
  const { content, stored } = toContent(parts, role)
  const sole = content.length === 0 ? soleCompaction(parts) : undefined
  for (const [index, part] of parts.entries()) {
    if (isCompaction(part)) stored[index] = compactionRest(part)
  }
  const extra = messageExtra(message, { ...place, entryID: id, stored })
  const own = { id, parentId: place.parentId, ...common }
  const lines: EntryBase[] = [
    sole
      ? { type: "compaction", ...own, ...compactionFields(sole, id), stemma: { ...extra, role } }
      : { type: "message", ...own, message: agentMessage(message.body, content), stemma: extra },
  ]
  for (const [index, part] of parts.entries()) {
    if (part === sole) continue
    const stemma: FurtherExtra = { of: id, part: index }
    const line = furtherLine(part, { role, freeID: place.freeID, parentId: lines.at(-1)!.id, common })
    if (line) lines.push({ ...line, stemma })
  }
  return { lines, leaf: lines.at(-1)!.id }
}

/** The line that a part has for itself: the result of a call, or a compaction beside other parts. */
function furtherLine(
  part: PartBody,
  place: Pick<EntryPlace, "freeID" | "parentId"> & {
    role: MessageBody["role"]
    common: Pick<EntryBase, "seq" | "timestamp">
  },
): EntryBase | undefined {
  const { parentId, common } = place
  if (isCompaction(part)) {
    const id = place.freeID(part.id)
    return { type: "compaction", id, parentId, ...common, ...compactionFields(part, id) }
  }
  const result = resultOf(part, place.role)
  if (!result) return undefined
  const { toolCallId, toolName, isError, endMs } = result
  const content = [{ type: "text", text: result.text }]
  const message = { role: "toolResult", toolCallId, toolName, content, isError, timestamp: endMs }
  return { type: "message", id: place.freeID(part.id), parentId, ...common, message }
}

function messageExtra(
  message: PlainMessage,
  place: EntryPlace & { entryID: string; stored: StoredPart[] },
): MessageExtra {
  const { id, role: _role, ...fields } = message.body
  const versions = message.parts.map((part) => part.version)
  const origin = `${place.segment}/${place.at[1]}`
  return {
    at: place.at,
    message: id === place.entryID ? fields : { id, ...fields },
    parts: place.stored,
    serials: message.parts.map((part) => part.serial),
    ...(versions.every((version) => version === message.version) ? {} : { versions }),
    ...(message.origin === origin ? {} : { origin: message.origin }),
    ...(message.writer === place.sessionID ? {} : { writer: message.writer }),
  }
}

type Compaction = PartBody & { type: "compaction"; summary: string }

/** True for a compaction that is done; one that is only asked for has no summary. */
function isCompaction(part: PartBody): part is Compaction {
  return part.type === "compaction" && part.summary !== undefined
}

/** The compaction of a message that says nothing else to other programs. */
function soleCompaction(parts: PartBody[]): Compaction | undefined {
  const found = parts.filter(isCompaction)
  return found.length === 1 ? found[0] : undefined
}

const ledgerGap = "\n\n"

/** The ledger follows the summary, so that a program that knows no ledgers shows it to the model too. */
function compactionFields(part: Compaction, entryID: string): object {
  return {
    summary: part.ledger === undefined ? part.summary : part.summary + ledgerGap + part.ledger,
    // A compaction that keeps nothing names itself.
    firstKeptEntryId: part.firstKeptEntryId ?? entryID,
    tokensBefore: part.tokensBefore ?? 0,
    tokensAfter: part.tokensAfter ?? 0,
  }
}

function compactionRest(part: Compaction): StoredPart {
  const { summary, ledger, ...rest } = part
  return { ...rest, summaryLength: summary.length, ...(ledger === undefined ? {} : { ledger: true }) }
}

/** The part that `compactionRest` and the line's summary were made of. */
export function joinCompaction(rest: StoredPart, summary: string): StoredPart {
  const { summaryLength, ledger, ...part } = rest
  const length = summaryLength as number
  return {
    ...part,
    summary: summary.slice(0, length),
    ...(ledger ? { ledger: summary.slice(length + ledgerGap.length) } : {}),
  }
}

function agentMessage(body: MessageBody, content: Block[]): object {
  if (body.role === "user") return { role: "user", content, timestamp: body.time.created }
  const { tokens } = body
  return {
    role: "assistant",
    content,
    api: "stemma",
    provider: body.providerID,
    model: body.modelID,
    usage: {
      input: tokens.input,
      output: tokens.output + tokens.reasoning,
      cacheRead: tokens.cache.read,
      cacheWrite: tokens.cache.write,
      reasoning: tokens.reasoning,
      totalTokens: tokens.input + tokens.output + tokens.reasoning + tokens.cache.read + tokens.cache.write,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: body.cost },
    },
    stopReason: stopReason(body, content),
    ...(body.error ? { errorMessage: body.error.data.message ?? body.error.name } : {}),
    timestamp: body.time.created,
  }
}

function stopReason(body: AssistantBody, content: Block[]): string {
  if (body.error?.name === "MessageAbortedError") return "aborted"
  if (body.error) return "error"
  if (content.some((block) => block.type === "toolCall")) return "toolUse"
  return body.finish === "length" ? "length" : "stop"
}

/** Times outside what a date can say are still times. */
export function isoTime(timeMs: number): string {
  const date = new Date(timeMs)
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString()
}

export const moveType = "stemma.move"

/** The program that read this far would go on at the end of the old tail: this line makes it go on where we do. */
export function moveEntry(
  version: number,
  parentId: string | null,
  options: { id: string; nowMs: number },
): EntryBase {
  return {
    type: "custom",
    id: options.id,
    parentId,
    seq: version,
    timestamp: isoTime(options.nowMs),
    customType: moveType,
  }
}

export function titleEntry(
  title: string,
  place: { id: string; parentId: string | null; version: number; nowMs: number },
): EntryBase {
  return {
    type: "session_info",
    id: place.id,
    parentId: place.parentId,
    seq: place.version,
    timestamp: isoTime(place.nowMs),
    name: title,
  }
}
