import { MessageBody, PartBody } from "../../../protocol/index.ts"
import type { PlainMessage } from "../../plain/index.ts"
import { fromContent, type StoredPart } from "./content.ts"
import { type FurtherExtra, joinCompaction, type MessageExtra } from "./entry.ts"
import { isObject, type Line } from "./lines.ts"

/** The lines of one message that this driver wrote. */
export interface MessageLines {
  extra: MessageExtra
  first: Line
  further: Line[]
}

/** Returns the `stemma` field of the first line of a message; undefined for every other line. */
export function messageExtraOf(line: Line): MessageExtra | undefined {
  const { stemma } = line.value
  if (!isObject(stemma) || !Array.isArray(stemma.at) || !Array.isArray(stemma.parts)) return undefined
  return isObject(stemma.message) && Array.isArray(stemma.serials)
    ? (stemma as unknown as MessageExtra)
    : undefined
}

/** Returns the `stemma` field of a further line of a message; undefined for every other line. */
export function furtherExtraOf(line: Line): FurtherExtra | undefined {
  const { stemma } = line.value
  if (!isObject(stemma) || typeof stemma.of !== "string" || typeof stemma.part !== "number") return undefined
  return stemma as unknown as FurtherExtra
}

/** Groups the lines of messages that this driver wrote, in the order of their first lines. */
export function groupMessages(lines: Line[]): MessageLines[] {
  const groups: MessageLines[] = []
  const open = new Map<string, MessageLines>()
  for (const line of lines) {
    const extra = messageExtraOf(line)
    if (extra) {
      const group = { extra, first: line, further: [] }
      groups.push(group)
      open.set(entryID(line) ?? "", group)
      continue
    }
    const further = furtherExtraOf(line)
    if (further) open.get(further.of)?.further.push(line)
  }
  return groups
}

export function entryID(line: Line): string | undefined {
  return typeof line.value.id === "string" ? line.value.id : undefined
}

/** Decodes a message and its parts. Undefined if the lines are not a valid message. */
export function decodeContent(group: MessageLines): { message: MessageBody; parts: PartBody[] } | undefined {
  const { extra, first } = group
  const { type, message } = first.value
  const stored: StoredPart[] = extra.parts.map((part) => ({ ...part }))
  const results = new Map<number, string>()
  let role: unknown = extra.role
  let content: unknown[] = []
  if (type === "compaction") {
    const index = stored.findIndex((part) => part.summaryLength !== undefined)
    if (index < 0 || typeof first.value.summary !== "string") return undefined
    stored[index] = joinCompaction(stored[index]!, first.value.summary)
  } else {
    if (!isObject(message) || !Array.isArray(message.content)) return undefined
    role = message.role
    content = message.content
  }
  for (const line of group.further) {
    const { part } = furtherExtraOf(line)!
    if (line.value.type === "compaction" && stored[part] && typeof line.value.summary === "string") {
      stored[part] = joinCompaction(stored[part], line.value.summary)
    } else {
      const text = resultText(line.value.message)
      if (text !== undefined) results.set(part, text)
    }
  }
  const body = MessageBody.safeParse({ id: entryID(first), role, ...extra.message })
  const joined = fromContent(stored, content, results)
  if (!body.success || !joined) return undefined
  const parts: PartBody[] = []
  for (const part of joined) {
    const parsed = PartBody.safeParse(part)
    if (!parsed.success) return undefined
    parts.push(parsed.data)
  }
  return { message: body.data, parts }
}

function resultText(message: unknown): string | undefined {
  if (!isObject(message) || !Array.isArray(message.content)) return undefined
  const [block] = message.content as unknown[]
  return isObject(block) && typeof block.text === "string" ? block.text : undefined
}

/** Decodes a sealed message for the plain model. Undefined if the lines are not a valid message. */
export function decodeMessage(
  group: MessageLines,
  owner: { segment: string; sessionID: string },
): PlainMessage | undefined {
  const content = decodeContent(group)
  const { seq } = group.first.value
  const { serials, versions, at, origin, writer } = group.extra
  if (!content || typeof seq !== "number" || serials.length !== content.parts.length) return undefined
  return {
    origin: origin ?? `${owner.segment}/${at[1]}`,
    writer: writer ?? owner.sessionID,
    body: content.message,
    version: seq,
    sealed: true,
    parts: content.parts.map((body, index) => ({
      body,
      version: versions?.[index] ?? seq,
      serial: serials[index]!,
      pieces: [],
    })),
  }
}
