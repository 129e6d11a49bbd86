import type { AssistantBody, MessageBody, PartBody } from "../../../protocol/index.ts"
import type { PlainMessage } from "../../plain/index.ts"
import { type Block, resultOf, type StoredPart, toContent } from "./content.ts"

/** A line of a session's main file as this driver writes it. Other programs ignore `seq` and `stemma`. */
export interface EntryBase {
  type: string
  id: string
  parentId: string | null
  /** The version of the commit that wrote the message. */
  seq: number
  /** An ISO 8601 time. */
  timestamp: string
  [field: string]: unknown
}

/** The fields that only this driver reads, on the first line of a message. */
export interface MessageExtra {
  /** The index of the segment in the session's chain, and the position in the history. */
  at: [chain: number, position: number]
  /** The fields of the message without its role, and without its id if that is the id of the line. */
  message: Record<string, unknown>
  parts: StoredPart[]
  serials: number[]
  /** The versions of the parts, if they differ from the version of the message. */
  versions?: number[]
  /** The origin and the writer of a message that another session wrote. */
  origin?: string
  writer?: string
  role?: "user" | "assistant"
}

/** On a further line of a message: the id of the message's first line, and the index of the part. */
export interface FurtherExtra {
  of: string
  part: number
}

interface EncodedMessage {
  lines: EntryBase[]
  /** The id of the message's last line, which is the parent of the next message. */
  leaf: string
}

/** What encoding a message needs to know about the file. */
interface EntryContext {
  at: [chain: number, position: number]
  parentId: string | null
  /** The segment and the session to which the file belongs. */
  segment: string
  sessionID: string
  /** Returns the wanted id, or a similar id if a line of the file already has it. */
  freeID(wanted: string): string
}

/** Encodes a sealed message: one line for the message, then one line for each tool result and each compaction. */
export function encodeMessage(message: PlainMessage, context: EntryContext): EncodedMessage {
  const parts = message.parts.map((part) => part.body)
  const { role } = message.body
  const id = context.freeID(message.body.id)
  const common = { seq: message.version, timestamp: isoTime(message.body.time.created) }
  const { content, stored } = toContent(parts, role)
  const sole = content.length === 0 ? soleCompaction(parts) : undefined
  for (const [index, part] of parts.entries()) {
    if (isCompaction(part)) stored[index] = compactionRest(part)
  }
  const extra = messageExtra(message, { ...context, entryID: id, stored })
  const own = { id, parentId: context.parentId, ...common }
  const lines: EntryBase[] = [
    sole
      ? { type: "compaction", ...own, ...compactionFields(sole, id), stemma: { ...extra, role } }
      : { type: "message", ...own, message: agentMessage(message.body, content), stemma: extra },
  ]
  for (const [index, part] of parts.entries()) {
    if (part === sole) continue
    const stemma: FurtherExtra = { of: id, part: index }
    const line = furtherLine(part, { role, freeID: context.freeID, parentId: lines.at(-1)!.id, common })
    if (line) lines.push({ ...line, stemma })
  }
  return { lines, leaf: lines.at(-1)!.id }
}

/** Returns the separate line of a part: a tool result, or a compaction beside other parts. */
function furtherLine(
  part: PartBody,
  context: Pick<EntryContext, "freeID" | "parentId"> & {
    role: MessageBody["role"]
    common: Pick<EntryBase, "seq" | "timestamp">
  },
): EntryBase | undefined {
  const { parentId, common } = context
  if (isCompaction(part)) {
    const id = context.freeID(part.id)
    return { type: "compaction", id, parentId, ...common, ...compactionFields(part, id) }
  }
  const result = resultOf(part, context.role)
  if (!result) return undefined
  const { toolCallId, toolName, isError, endMs } = result
  const content = [{ type: "text", text: result.text }]
  const message = { role: "toolResult", toolCallId, toolName, content, isError, timestamp: endMs }
  return { type: "message", id: context.freeID(part.id), parentId, ...common, message }
}

function messageExtra(
  message: PlainMessage,
  context: EntryContext & { entryID: string; stored: StoredPart[] },
): MessageExtra {
  const { id, role: _role, ...fields } = message.body
  const versions = message.parts.map((part) => part.version)
  const origin = `${context.segment}/${context.at[1]}`
  return {
    at: context.at,
    message: id === context.entryID ? fields : { id, ...fields },
    parts: context.stored,
    serials: message.parts.map((part) => part.serial),
    ...(versions.every((version) => version === message.version) ? {} : { versions }),
    ...(message.origin === origin ? {} : { origin: message.origin }),
    ...(message.writer === context.sessionID ? {} : { writer: message.writer }),
  }
}

type Compaction = PartBody & { type: "compaction"; summary: string }

/** True for a finished compaction. A requested compaction has no summary. */
function isCompaction(part: PartBody): part is Compaction {
  return part.type === "compaction" && part.summary !== undefined
}

/** Returns the compaction of a message that has nothing else to show to other programs. */
function soleCompaction(parts: PartBody[]): Compaction | undefined {
  const found = parts.filter(isCompaction)
  return found.length === 1 ? found[0] : undefined
}

const ledgerGap = "\n\n"

/** The ledger follows the summary, so that a program that does not know ledgers shows it to the model too. */
function compactionFields(part: Compaction, entryID: string): object {
  return {
    summary: part.ledger === undefined ? part.summary : part.summary + ledgerGap + part.ledger,
    // A compaction that keeps no message names itself.
    firstKeptEntryId: part.firstKeptEntryId ?? entryID,
    tokensBefore: part.tokensBefore ?? 0,
    tokensAfter: part.tokensAfter ?? 0,
  }
}

function compactionRest(part: Compaction): StoredPart {
  const { summary, ledger, ...rest } = part
  return { ...rest, summaryLength: summary.length, ...(ledger === undefined ? {} : { ledger: true }) }
}

/** Restores the part from the fields of `compactionRest` and the summary of the line. */
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

/** Formats a time as ISO 8601. A time that a Date cannot represent becomes 1970. */
export function isoTime(timeMs: number): string {
  const date = new Date(timeMs)
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString()
}

export const moveType = "stemma.move"

/** Encodes a move of the history. Without this line, another program would continue at the end of the left tail. */
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
  context: { id: string; parentId: string | null; version: number; nowMs: number },
): EntryBase {
  return {
    type: "session_info",
    id: context.id,
    parentId: context.parentId,
    seq: context.version,
    timestamp: isoTime(context.nowMs),
    name: title,
  }
}
