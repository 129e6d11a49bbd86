import {
  type MessageBody,
  type PartBody,
  type PartType,
  StemmaError,
  type Tokens,
} from "../../../protocol/index.ts"
import { decodeID, encodeID } from "./id-codec.ts"

/** The number of each part type. A context looks for kinds from 20 to 29, which a partial index covers. */
const kinds: Record<PartType, number> = {
  text: 0,
  reasoning: 1,
  tool: 2,
  file: 3,
  agent: 4,
  subtask: 5,
  retry: 6,
  "step-start": 7,
  "step-finish": 8,
  snapshot: 9,
  patch: 10,
  compaction: 20,
}
export const compactionKind = 20
/** The kind of a step-start part with a prune mark. */
export const pruneKind = 21
/** Added to the kind of a part whose long text stays in the pieces of its message. */
export const longKind = 100

const kindNames: PartType[] = []
for (const [name, kind] of Object.entries(kinds)) kindNames[kind] = name as PartType
kindNames[pruneKind] = "step-start"

/** The fields of each part type in the order in which they are stored, so that rows do not repeat field names. */
const fields: Record<PartType, readonly string[]> = {
  text: ["text", "synthetic", "ignored", "time", "metadata"],
  reasoning: ["text", "time", "metadata"],
  tool: ["callID", "tool", "state", "metadata"],
  file: ["mime", "url", "filename", "source"],
  agent: ["name", "source"],
  subtask: ["prompt", "description", "agent", "model", "command", "fixed", "references"],
  retry: ["attempt", "error", "time"],
  "step-start": ["snapshot", "prune"],
  "step-finish": ["reason", "cost", "tokens", "snapshot"],
  snapshot: ["snapshot"],
  patch: ["hash", "files"],
  compaction: [
    "auto",
    "summary",
    "ledger",
    "firstKeptEntryId",
    "tokensBefore",
    "tokensAfter",
    "facts",
    "tokensHidden",
  ],
}

/** Parses stored JSON. Damaged JSON is an `internal` error that names the row. */
export function parseStored(text: unknown, where: string): unknown {
  try {
    return JSON.parse(text as string)
  } catch (cause) {
    throw new StemmaError(
      "internal",
      `${where} is damaged: its JSON cannot be parsed. Run a check of the store, and restore the database from a backup.`,
      {
        cause,
      },
    )
  }
}

function pack(source: Record<string, unknown>, names: readonly string[]): string {
  const values: unknown[] = []
  let last = 0
  for (let i = 0; i < names.length; i++) {
    const value = source[names[i]!]
    if (value !== undefined) last = i + 1
    values.push(names[i] === "tokens" && value !== undefined ? packTokens(value as Tokens) : value)
  }
  values.length = last
  return JSON.stringify(values)
}

function unpack(target: Record<string, unknown>, values: unknown[], names: readonly string[]): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    target[names[i]!] = names[i] === "tokens" ? unpackTokens(value as number[]) : value
  }
}

export function packTokens(tokens: Tokens): number[] {
  const { input, output, reasoning, cache } = tokens
  if (cache.read || cache.write) return [input, output, reasoning, cache.read, cache.write]
  return reasoning ? [input, output, reasoning] : [input, output]
}

export function unpackTokens(values: number[]): Tokens {
  const [input = 0, output = 0, reasoning = 0, read = 0, write = 0] = values
  return { input, output, reasoning, cache: { read, write } }
}

export function partKind(part: PartBody): number {
  return part.type === "step-start" && part.prune !== undefined ? pruneKind : kinds[part.type]
}

export function encodePart(part: PartBody): string {
  if (part.type === "text" && isPlain(part)) return `[${JSON.stringify(part.text)}]`
  return pack(part as unknown as Record<string, unknown>, fields[part.type])
}

/** True for a part with text and no other field, which streaming puts many times a second. */
function isPlain(part: PartBody & { type: "text" }): boolean {
  return !(part.synthetic !== undefined || part.ignored !== undefined || part.time || part.metadata)
}

export function decodePart(id: unknown, kind: number, data: unknown, where: string): PartBody {
  const values = parseStored(data, where)
  const type = kindNames[kind % longKind]
  if (!Array.isArray(values) || type === undefined) {
    throw new StemmaError(
      "internal",
      `${where} is damaged. Run a check of the store, and restore the database from a backup.`,
    )
  }
  const part: Record<string, unknown> = { id: decodeID("part", id), type }
  unpack(part, values, fields[type])
  return part as PartBody
}

/** Fields that most messages of a session share are stored once, in the dictionary. */
const userConstants = ["agent", "model", "tools", "variant"] as const
const assistantConstants = ["agent", "modelID", "providerID", "mode", "path", "finish", "summary"] as const
const userFields = ["system", "summary", "references", "unattended"] as const
const assistantFields = ["cost", "tokens", "error"] as const

export interface StoredMessage {
  constants: string
  data: string
}

function parentText(parentID: string): string {
  return typeof encodeID(parentID) === "string" ? parentID : parentID.slice(4)
}

export function encodeMessage(message: MessageBody): StoredMessage {
  const source = message as unknown as Record<string, unknown>
  if (message.role === "user") {
    const data = pack({ ...source, created: message.time.created }, ["created", ...userFields])
    return { constants: JSON.stringify(["u", ...userConstants.map((name) => source[name])]), data }
  }
  const { created, completed } = message.time
  const duration = completed === undefined ? undefined : completed - created
  const data = pack({ ...source, created, duration, parent: parentText(message.parentID) }, [
    "created",
    "duration",
    "parent",
    ...assistantFields,
  ])
  return { constants: JSON.stringify(["a", ...assistantConstants.map((name) => source[name])]), data }
}

/** Returns the role of a message with these constants. */
export function roleOf(constants: string): MessageBody["role"] {
  return constants.startsWith('["u"') ? "user" : "assistant"
}

/** Parsed constants. Few different texts are in use at a time, and nearly all messages of a page have the same. */
const parsedConstants = new Map<string, unknown>()
const parsedConstantsMax = 100

function parseConstants(text: string, where: string): unknown {
  let parsed = parsedConstants.get(text)
  if (parsed === undefined) {
    parsed = parseStored(text, where)
    if (parsedConstants.size >= parsedConstantsMax) parsedConstants.clear()
    parsedConstants.set(text, parsed)
  }
  // Each message has objects of its own, so that a caller who changes one changes no other message.
  return Array.isArray(parsed) ? parsed.map((value) => (isFlatObject(value) ? { ...value } : value)) : parsed
}

function isFlatObject(value: unknown): value is object {
  return typeof value === "object" && value !== null
}

export function decodeMessage(id: unknown, constants: string, data: unknown, where: string): MessageBody {
  const values = parseStored(data, where)
  const shared = parseConstants(constants, where)
  if (!Array.isArray(values) || !Array.isArray(shared)) {
    throw new StemmaError(
      "internal",
      `${where} is damaged. Run a check of the store, and restore the database from a backup.`,
    )
  }
  const message: Record<string, unknown> = { id: decodeID("message", id) }
  if (shared[0] === "u") {
    message.role = "user"
    message.time = { created: values[0] }
    unpack(message, values.slice(1), userFields)
    unpack(message, shared.slice(1), userConstants)
    return message as unknown as MessageBody
  }
  const [created, duration, parent, ...rest] = values as [number, number | null, string, ...unknown[]]
  message.role = "assistant"
  message.time = duration === null ? { created } : { created, completed: created + duration }
  message.parentID = /^msg[_-]/.test(parent) ? parent : `msg_${parent}`
  unpack(message, rest, assistantFields)
  unpack(message, shared.slice(1), assistantConstants)
  return message as unknown as MessageBody
}
