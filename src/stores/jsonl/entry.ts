import type { AssistantBody, MessageBody, PartBody } from "../../protocol/index.ts"
import type { PlainMessage } from "../plain/index.ts"
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
  stemma?: unknown
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

export interface EncodedMessage {
  lines: EntryBase[]
  /** The id of its last line, on which the next message follows. */
  leaf: string
}

/** Where a message goes in the file. */
export interface EntryPlace {
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
  const first = place.freeID(message.body.id)
  const { content, stored } = toContent(parts, role)
  const sole = content.length === 0 ? soleCompaction(parts) : undefined
  const base = { seq: message.version, timestamp: isoTime(message.body.time.created) }
  const extra = messageExtra(message, { ...place, entryID: first, stored })

  const lines: EntryBase[] = []
  if (sole) {
    const { index, part } = sole
    extra.parts[index] = compactionRest(part)
    const own = { id: first, parentId: place.parentId, ...base }
    lines.push({
      type: "compaction",
      ...own,
      ...compactionFields(part, first),
      stemma: { ...extra, role },
    } as EntryBase)
  } else {
    const own = { id: first, parentId: place.parentId, ...base }
    lines.push({
      type: "message",
      ...own,
      message: agentMessage(message.body, content),
      stemma: extra,
    } as EntryBase)
  }
  for (const [index, part] of parts.entries()) {
    const further: FurtherExtra = { of: first, part: index }
    const result = resultOf(part, role)
    const place_ = { parentId: lines.at(-1)!.id, ...base }
    if (result && part.type === "tool") {
      const content = [{ type: "text", text: result.text }]
      const { callID: toolCallId, tool: toolName } = part
      const timestamp = "time" in part.state && "end" in part.state.time ? part.state.time.end : 0
      lines.push({
        type: "message",
        id: place.freeID(part.id),
        ...place_,
        message: { role: "toolResult", toolCallId, toolName, content, isError: result.isError, timestamp },
        stemma: further,
      } as EntryBase)
    } else if (part.type === "compaction" && part.summary !== undefined && !sole) {
      extra.parts[index] = compactionRest(part)
      const id = place.freeID(part.id)
      lines.push({
        type: "compaction",
        id,
        ...place_,
        ...compactionFields(part, id),
        stemma: further,
      } as EntryBase)
    }
  }
  return { lines, leaf: lines.at(-1)!.id }
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

type Compaction = PartBody & { type: "compaction" }

/** The compaction of a message that says nothing else to other programs. */
function soleCompaction(parts: PartBody[]): { index: number; part: Compaction } | undefined {
  const found = parts.flatMap((part, index) =>
    part.type === "compaction" && part.summary !== undefined ? [{ index, part }] : [],
  )
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
  return { ...rest, summaryLength: summary!.length, ...(ledger === undefined ? {} : { ledger: true }) }
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
  } as EntryBase
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
  } as EntryBase
}
