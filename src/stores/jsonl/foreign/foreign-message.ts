import { createHash } from "node:crypto"
import {
  type AssistantBody,
  MessageID,
  type ModelRef,
  type PartBody,
  PartID,
  type UserBody,
} from "../../../protocol/index.ts"
import { cleanDeep } from "../../../session/text/clean-text.ts"
import {
  decodeContent,
  entryID,
  furtherExtraOf,
  type MessageLines,
  messageExtraOf,
} from "../format/decode.ts"
import { isObject, type Line } from "../format/lines.ts"
import { foreignParts, messageText, settleCall, unsettledCalls } from "./foreign-content.ts"

/** A message that another program or a person wrote. */
export interface ForeignMessage {
  message: UserBody | AssistantBody
  parts: PartBody[]
  /** The lines of the message, the first line of it first. */
  lines: Line[]
}

/** What is known at the point where the foreign lines begin. */
export interface ForeignContext {
  agent: string
  directory: string
  /** The messages before the foreign lines. */
  before: { id: string; role: "user" | "assistant"; model: ModelRef }[]
  /** The time of lines without a timestamp. */
  timeMs: number
}

const unknownModel: ModelRef = { providerID: "unknown", modelID: "unknown" }
const noResult = "No result was recorded."

/**
 * Decodes lines of other programs in this format, and lines of this driver in a file that was not a session of this
 * store. The same lines after the same messages give the same ids. Lines without meaning for a history are skipped.
 */
export function decodeForeign(lines: Line[], context: ForeignContext): ForeignMessage[] {
  const reader = new ForeignReader(context)
  for (const line of lines) reader.take(line)
  return reader.finish()
}

class ForeignReader {
  readonly #context: ForeignContext
  readonly #messages: ForeignMessage[] = []
  readonly #used: Set<string>
  /** The message id for each entry id of another program. */
  readonly #owners = new Map<string, string>()
  #userID: string | undefined
  #model: ModelRef
  #timeMs: number
  #ours: MessageLines | undefined

  constructor(context: ForeignContext) {
    this.#context = context
    this.#used = new Set(context.before.map(({ id }) => id))
    this.#userID = context.before.findLast(({ role }) => role === "user")?.id
    this.#model = context.before.at(-1)?.model ?? unknownModel
    this.#timeMs = context.timeMs
  }

  take(line: Line): void {
    if (furtherExtraOf(line) && this.#ours) {
      this.#ours.further.push(line)
      return
    }
    this.#endOurs()
    const extra = messageExtraOf(line)
    if (extra) this.#ours = { extra, first: line, further: [] }
    else if (line.value.type === "message") this.#takeMessage(line)
    else if (line.value.type === "compaction") this.#takeCompaction(line)
    else if (line.value.type === "model_change") this.#takeModel(line.value.provider, line.value.modelId)
  }

  finish(): ForeignMessage[] {
    this.#endOurs()
    for (const message of this.#messages) failUnsettled(message)
    return this.#messages
  }

  #endOurs(): void {
    const group = this.#ours
    this.#ours = undefined
    const content = group && decodeContent(group)
    if (!content) return
    const { message, parts } = content
    const id = this.#use(message.id)
    this.#add({ message: { ...message, id }, parts, lines: [group.first, ...group.further] })
  }

  #takeMessage(line: Line): void {
    const { message } = line.value
    if (!isObject(message)) return
    const timeMs = this.#time(line, message.timestamp)
    if (message.role === "toolResult") this.#takeResult(line, message, timeMs)
    if (message.role === "user") this.#takeUser(line, message, timeMs)
    if (message.role === "assistant") this.#takeAssistant(line, message, timeMs)
  }

  #takeUser(line: Line, message: Record<string, unknown>, timeMs: number): void {
    const id = this.#messageID(line)
    const body: UserBody = {
      id,
      role: "user",
      time: { created: timeMs },
      agent: this.#context.agent,
      model: this.#model,
    }
    this.#add({
      message: body,
      parts: foreignParts(message.content, this.#partContext(id, timeMs)),
      lines: [line],
    })
  }

  #takeAssistant(line: Line, message: Record<string, unknown>, timeMs: number): void {
    this.#takeModel(message.provider, message.model)
    const id = this.#messageID(line)
    const { content, stopReason } = message
    const errorText = messageText(message.errorMessage)
    const body: AssistantBody = {
      ...this.#assistant(id, timeMs),
      ...usageOf(message.usage),
      ...(typeof stopReason === "string" ? { finish: stopReason } : {}),
      ...(stopReason === "error"
        ? { error: { name: "UnknownError", data: { message: errorText ?? "failed" } } }
        : {}),
      ...(stopReason === "aborted"
        ? { error: { name: "MessageAbortedError", data: { message: errorText ?? "aborted" } } }
        : {}),
    }
    this.#add({ message: body, parts: foreignParts(content, this.#partContext(id, timeMs)), lines: [line] })
  }

  #takeResult(line: Line, message: Record<string, unknown>, timeMs: number): void {
    const last = this.#messages.at(-1)
    if (last?.message.role !== "assistant") return
    const index = last.parts.findIndex(
      (part) => part.type === "tool" && part.callID === message.toolCallId && part.state.status === "running",
    )
    const part = last.parts[index]
    if (part?.type !== "tool") return
    last.parts[index] = cleanDeep(settleCall(part, message, timeMs))
    last.lines.push(line)
    const id = entryID(line)
    if (id !== undefined) this.#owners.set(id, last.message.id)
  }

  #takeCompaction(line: Line): void {
    const { summary, firstKeptEntryId, tokensBefore, tokensAfter } = line.value
    if (typeof summary !== "string") return
    const id = this.#messageID(line)
    const timeMs = this.#time(line, undefined)
    const kept = typeof firstKeptEntryId === "string" ? this.#keptMessage(firstKeptEntryId) : undefined
    const part: PartBody = {
      id: partID(id, 1),
      type: "compaction",
      auto: true,
      summary,
      ...(kept === undefined || kept === id ? {} : { firstKeptEntryId: kept }),
      ...(isCount(tokensBefore) ? { tokensBefore } : {}),
      ...(isCount(tokensAfter) ? { tokensAfter } : {}),
    }
    this.#add({ message: { ...this.#assistant(id, timeMs), summary: true }, parts: [part], lines: [line] })
  }

  /**
   * Returns the message that the entry belongs to. An id that is not in the file is kept if it is a valid message id.
   */
  #keptMessage(id: string): string | undefined {
    const owner = this.#owners.get(id) ?? asMessageID(id)
    return this.#used.has(owner) || MessageID.safeParse(id).success ? owner : undefined
  }

  #takeModel(provider: unknown, model: unknown): void {
    if (typeof provider !== "string" || typeof model !== "string" || !provider || !model) return
    this.#model = { providerID: provider, modelID: model }
  }

  #add(found: ForeignMessage): void {
    const { message } = found
    if (message.role === "user") this.#userID = message.id
    this.#timeMs = message.time.created
    this.#messages.push(cleanDeep({ message, parts: found.parts }) as ForeignMessage)
    this.#messages.at(-1)!.lines = found.lines
    const id = entryID(found.lines[0]!)
    if (id !== undefined) this.#owners.set(id, message.id)
  }

  #assistant(id: string, timeMs: number): AssistantBody {
    const { agent, directory } = this.#context
    return {
      id,
      role: "assistant",
      time: { created: timeMs, completed: timeMs },
      parentID: this.#userID ?? id,
      ...this.#model,
      agent,
      path: { cwd: directory, root: directory },
      cost: 0,
      tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
    }
  }

  #partContext(messageID: string, timeMs: number) {
    return { timeMs, partID: (number: number) => partID(messageID, number) }
  }

  /** Returns the message id for a line: made from the entry's id or, without one, `msg-1`, `msg-2` and so on. */
  #messageID(line: Line): string {
    const id = entryID(line)
    const number = this.#context.before.length + this.#messages.length + 1
    return this.#use(id === undefined ? `msg-${number}` : asMessageID(id))
  }

  #use(wanted: string): string {
    let id = wanted
    for (let count = 2; this.#used.has(id); count++) id = `${wanted.slice(0, 56)}-${count}`
    this.#used.add(id)
    return id
  }

  #time(line: Line, own: unknown): number {
    const { timestamp } = line.value
    if (isTime(own)) return own
    if (isTime(timestamp)) return timestamp
    const parsed = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN
    return isTime(parsed) ? parsed : this.#timeMs
  }
}

/** True if the last message has tool calls without results, which another program may still be running. */
export function awaitsResults(messages: ForeignMessage[], lines: Line[]): boolean {
  const last = messages.at(-1)
  const first = last?.lines[0]
  if (!last || !first || entryID(first) === undefined || messageExtraOf(first)) return false
  const after = lines.slice(lines.indexOf(first) + 1)
  const settled = new Set(after.map(({ value }) => isObject(value.message) && value.message.toolCallId))
  return last.parts.some((part) => part.type === "tool" && !settled.has(part.callID))
}

function failUnsettled(message: ForeignMessage): void {
  for (const { index, part } of unsettledCalls(message.parts)) {
    const { start } = part.state.time
    const { input } = part.state
    message.parts[index] = {
      ...part,
      state: { status: "error", input, error: noResult, time: { start, end: start } },
    }
  }
}

function usageOf(usage: unknown): Partial<AssistantBody> {
  if (!isObject(usage)) return {}
  const cost = isObject(usage.cost) && typeof usage.cost.total === "number" ? usage.cost.total : 0
  const reasoning = count(usage.reasoning)
  return {
    cost: cost >= 0 && Number.isFinite(cost) ? cost : 0,
    tokens: {
      input: count(usage.input),
      output: Math.max(0, count(usage.output) - reasoning),
      reasoning,
      cache: { read: count(usage.cacheRead), write: count(usage.cacheWrite) },
    },
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function count(value: unknown): number {
  return isCount(value) ? value : 0
}

export function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 && value < 8.64e15
}

/** Maps a foreign id to a valid message id, always to the same. */
function asMessageID(id: string): string {
  if (MessageID.safeParse(id).success) return id
  return MessageID.safeParse(`msg-${id}`).success ? `msg-${id}` : `msg-${shortHash(id)}`
}

function partID(messageID: string, number: number): string {
  const id = `prt-${messageID.slice(4)}-${number}`
  return PartID.safeParse(id).success ? id : `prt-${shortHash(messageID)}-${number}`
}

export function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24)
}
