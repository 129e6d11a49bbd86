import type { HistoryItem, MessageBody, PartBody, PartOf, Session } from "../../protocol/index.ts"
import {
  type ContextBase,
  type ContextMessage,
  changesBase,
  context,
  contextBase,
  cutToTokens,
  estimateContextTokens,
  type GrowingContext,
  growingContext,
  isSummary,
  trimStart,
} from "../../session/index.ts"
import type { Store } from "../../stores/store.ts"
import { findMessage } from "../schedule/waiters.ts"
import { heapBytes } from "./heap-bytes.ts"
import type { CountedCall } from "./next-call-tokens.ts"

const pageLimit = 1000

/**
 * A cache of a session's history, from the message at which the context begins. An update reads only new items, so the
 * cost of a step depends on what the step adds and not on the length of the history.
 */
export class HistoryMemo {
  #items: HistoryItem[] = []
  /** The position of the first cached item. */
  #start = 0
  #epoch = -1
  #segment = ""
  /** The `maxHistory` for which the first item was chosen; infinite if the session has none. */
  #maxHistory = 0
  #built: BuiltContext | undefined
  /** Memoised `sealed` while the last item is open. */
  #withoutOpen: readonly HistoryItem[] | undefined
  /** The session's first prompt as the model is shown it. Only set if the config keeps it in the context. */
  #firstPrompt: { position: number; messages: readonly ContextMessage[] } | undefined
  /** The last call whose tokens the provider counted. */
  lastCounted: CountedCall | undefined
  /** For each item that was counted: about how many bytes of heap it uses, with what is built from it. */
  readonly #itemBytes: number[] = []
  #bytes = 0
  /**
   * The value of `count` when waiting callers were last notified. Searching a long history for answers is expensive.
   */
  notifiedCount = 0

  /** The cached items, an open one included. */
  get items(): readonly HistoryItem[] {
    return this.#items
  }

  /** About how many bytes of heap the items and their context use. */
  get bytes(): number {
    for (let index = this.#itemBytes.length; index < this.#items.length; index++) {
      const bytes = itemBytes(this.#items[index]!)
      this.#itemBytes.push(bytes)
      this.#bytes += bytes
    }
    return this.#bytes
  }

  get count(): number {
    return this.#start + this.#items.length
  }

  get last(): HistoryItem | undefined {
    return this.#items.at(-1)
  }

  /** Reads the items that are missing or have changed. */
  async refresh(store: Store, session: Session): Promise<void> {
    const { history } = session
    const isSame = this.#epoch === history.epoch && this.#segment === history.segment
    const maxHistory = session.maxHistory ?? Number.POSITIVE_INFINITY
    // A higher `maxHistory` needs older items that were not read.
    if (!isSame || this.count > history.count || maxHistory > this.#maxHistory) {
      this.#reset(await firstPosition(store, session))
      this.#maxHistory = maxHistory
    }
    this.#dropHidden()
    // An item that was open when it was read has changed since.
    if (this.last && !this.last.sealed) this.#dropLast()
    this.#epoch = history.epoch
    this.#segment = history.segment
    const compactions = await this.#read(store, session)
    if (compactions === 0 || this.#start === 0 || this.#hasFirstKeptItem()) return
    // Another process compacted and kept items that are older than those in this cache.
    const start = await firstPosition(store, session)
    if (start >= this.#start) return
    this.#reset(start)
    await this.#read(store, session)
  }

  /** Reads to the end of the history. Returns the number of compactions among the new items. */
  async #read(store: Store, { id, history }: Session): Promise<number> {
    let compactions = 0
    while (this.count < history.count) {
      const page = await store.history(id, { from: this.count, take: "start", limit: pageLimit })
      if (page.items.length === 0) break
      for (const item of page.items) {
        this.add(item)
        if (item.parts.some(isSummary)) compactions++
      }
    }
    return compactions
  }

  /** True if the first item that the last compaction keeps is cached. */
  #hasFirstKeptItem(): boolean {
    const { compaction, start } = this.base
    const kept = compaction?.firstKeptEntryId
    return kept === undefined || this.#items[start]?.message.id === kept
  }

  add(item: HistoryItem): void {
    this.#items.push(item)
    this.#withoutOpen = undefined
  }

  /** Adds a sealed message that was just appended to the store. */
  addSealed(
    sessionID: string,
    { message, parts }: { message: MessageBody; parts: readonly PartBody[] },
    version: number,
  ): void {
    this.add({
      position: this.count,
      version,
      sealed: true,
      message: { ...message, sessionID },
      parts: parts.map((part) => ({ ...part, sessionID, messageID: message.id })),
    })
  }

  /** Replaces the open message at the end, for example once it is sealed. */
  replaceLast(item: HistoryItem): void {
    this.#dropLast()
    this.add(item)
  }

  /** The context of the sealed items. The session must not have a revert mark. */
  context(options: MemoContextOptions): readonly ContextMessage[] {
    return this.shown(options).messages
  }

  /** The same, with its estimated tokens. */
  shown(options: MemoContextOptions): { messages: readonly ContextMessage[]; tokens: number } {
    const { messages, summary, start, first, tokens, isWhole } = this.#shownRange(options)
    // A copy: the array grows with the next items, and a caller may keep what it got.
    if (isWhole) return { messages: messages.slice(), tokens }
    if (tokens >= 0) return { messages: messages.toSpliced(summary, start - summary, ...first), tokens }
    const { maxHistory } = options
    const built = context(this.sealed, { ...(maxHistory !== undefined && { maxHistory }) })
    return { messages: built, tokens: sumTokens(built) }
  }

  /** The estimated tokens of the context. */
  shownTokens(options: MemoContextOptions): number {
    const { tokens } = this.#shownRange(options)
    return tokens >= 0 ? tokens : this.shown(options).tokens
  }

  /**
   * Which messages of the built context are shown. `tokens` is -1 if the trimmed context would not begin with a user
   * message: then the caller must build the context anew.
   */
  #shownRange({ maxHistory, keepsFirst }: MemoContextOptions): ShownRange {
    const items = this.sealed
    const { base, context, starts, tokens } = this.#build(items)
    const { messages } = context
    const trimmed = trimStart(items, { maxHistory, from: base.start }) - base.start
    const isCut = trimmed > 0 || base.compaction !== undefined
    const first = keepsFirst && isCut ? this.#firstBefore(items[base.start + trimmed]) : []
    const summary = starts[0] ?? messages.length
    const start = starts[trimmed] ?? messages.length
    const isWhole = trimmed === 0 && first.length === 0
    const isUser = isWhole || summary + first.length > 0 || messages[start]?.role === "user"
    const shown = isWhole
      ? tokens.at(-1)!
      : tokens[summary]! + sumTokens(first) + tokens.at(-1)! - tokens[start]!
    return { messages, summary, start, first, isWhole, tokens: isUser ? shown : -1 }
  }

  /** The session's first prompt, if it comes before the given item. */
  #firstBefore(item: HistoryItem | undefined): readonly ContextMessage[] {
    if (!this.#firstPrompt || (item && item.position <= this.#firstPrompt.position)) return []
    return this.#firstPrompt.messages
  }

  /** The items without the open one at the end. */
  get sealed(): readonly HistoryItem[] {
    if (this.last?.sealed !== false) return this.#items
    this.#withoutOpen ??= this.#items.slice(0, -1)
    return this.#withoutOpen
  }

  /** The last compaction and the prune marks, from which the context is built. */
  get base(): ContextBase {
    return this.#build(this.sealed).base
  }

  /** The estimated tokens of the sealed item at `index` in the context. */
  tokensAt(index: number): number {
    const { base, context, starts, tokens } = this.#build(this.sealed)
    const at = index - base.start
    return tokens[starts[at + 1] ?? context.messages.length]! - tokens[starts[at]!]!
  }

  /** The estimated tokens that the session's first prompt adds to a context that begins at item `index`. */
  firstTokensBefore(index: number): number {
    if (!this.#firstPrompt || this.#firstPrompt.position >= this.#start + index) return 0
    return sumTokens(this.#firstPrompt.messages)
  }

  #build(items: readonly HistoryItem[]): BuiltContext {
    let built = this.#built
    // Includes the open item: its prune marks apply to the model call that the open message is for.
    const all = this.#items
    for (let index = built?.seen ?? 0; built && index < all.length; index++) {
      if (changesBase(all[index]!)) built = undefined
    }
    if (!built) {
      const base = contextBase(all)
      built = { base, seen: 0, context: growingContext(base), starts: [], tokens: [0] }
      this.#built = built
      countTokens(built)
    }
    built.seen = all.length
    for (let index = built.base.start + built.starts.length; index < items.length; index++) {
      built.starts.push(built.context.messages.length)
      built.context.add(items[index]!)
      countTokens(built)
    }
    return built
  }

  #dropLast(): void {
    const item = this.#items.pop()
    if (!item) return
    this.#withoutOpen = undefined
    if (this.#itemBytes.length > this.#items.length) this.#bytes -= this.#itemBytes.pop()!
    const built = this.#built
    if (!built) return
    const { length } = this.#items
    const isShown = built.base.start + built.starts.length > length
    if (isShown || (built.seen > length && changesBase(item))) this.#built = undefined
    else built.seen = Math.min(built.seen, length)
  }

  /** Drops the items that the last compaction hides. */
  #dropHidden(): void {
    const built = this.#built
    if (!built || built.base.start === 0) return
    this.#items.splice(0, built.base.start)
    for (const bytes of this.#itemBytes.splice(0, built.base.start)) this.#bytes -= bytes
    this.#withoutOpen = undefined
    this.#start += built.base.start
    built.seen -= built.base.start
    built.base = { ...built.base, start: 0 }
  }

  /** Reads the session's first prompt, unless it is cached. */
  async readFirst(store: Store, sessionID: string): Promise<void> {
    if (this.#firstPrompt) return
    const page = await store.history(sessionID, { from: 0, take: "start", limit: 10 })
    const item = page.items.find(({ sealed, message }) => sealed && message.role === "user")
    if (item) this.#firstPrompt = { position: item.position, messages: context([item]).map(shortened) }
  }

  #reset(start: number): void {
    this.#items = []
    this.#withoutOpen = undefined
    this.#firstPrompt = undefined
    this.#start = start
    this.#itemBytes.length = 0
    this.#bytes = 0
    this.notifiedCount = 0
    this.#built = undefined
  }
}

export interface MemoContextOptions {
  maxHistory?: number
  /** The session's first prompt stays in the context after a trim or a compaction. */
  keepsFirst?: boolean
}

interface ShownRange {
  messages: readonly ContextMessage[]
  /** The messages from `summary` up to `start` (exclusive) are left out, and `first` takes their place. */
  summary: number
  start: number
  first: readonly ContextMessage[]
  isWhole: boolean
  tokens: number
}

interface BuiltContext {
  base: ContextBase
  /** How many items `base` takes into account, an open one included. */
  seen: number
  context: GrowingContext
  /** For each item from the base's start: the index of its first message in the context. */
  starts: number[]
  /** For each message: the estimated tokens before it; the last entry is the total. */
  tokens: number[]
}

function countTokens({ context: { messages }, tokens }: BuiltContext): void {
  for (let index = tokens.length - 1; index < messages.length; index++) {
    tokens.push(tokens[index]! + estimateContextTokens(messages[index]!))
  }
}

const firstTokensMax = 4_000

/** Cuts a first prompt that is so long that it would fill the window. */
function shortened(message: ContextMessage): ContextMessage {
  if (message.role !== "user" || estimateContextTokens(message) <= firstTokensMax) return message
  const content = message.content.map((part) => {
    if (part.type !== "text") return part
    const text = cutToTokens(part.text, firstTokensMax)
    return text === part.text ? part : { ...part, text: `${text}\n[The rest of the prompt is not shown.]` }
  })
  return { ...message, content }
}

function sumTokens(messages: readonly ContextMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateContextTokens(message), 0)
}

/** The earliest position at which the context of a session can begin. */
export async function firstPosition(store: Store, session: Session, to?: number): Promise<number> {
  const last = await lastCompaction(store, session.id, to)
  if (last) {
    const keptID = (last.parts.findLast(isSummary) as PartOf<"compaction">).firstKeptEntryId
    if (keptID === undefined) return last.position
    const kept = await findMessage(store, session.id, keptID)
    return Math.min(last.position, kept?.position ?? last.position)
  }
  const { maxHistory, history } = session
  if (maxHistory === undefined) return 0
  // Two more than the trim keeps: one so that the trim has something to cut, one since the last item may be open.
  const bounded = history.count - maxHistory - 2
  return bounded > 0 ? turnStart(store, session, bounded) : 0
}

/** The last compaction with a summary, before position `to`. */
async function lastCompaction(
  store: Store,
  sessionID: string,
  to: number | undefined,
): Promise<HistoryItem | undefined> {
  // The last compaction mostly has a summary, and compactions are large, so the first page has a single item.
  let limit = 1
  for (let end = to; ; limit = 10) {
    const page = await store.history(sessionID, {
      having: "compaction",
      take: "end",
      limit,
      ...(end !== undefined && { to: end }),
    })
    const last = page.items.findLast((item) => item.sealed && item.parts.some(isSummary))
    if (last || !page.more || page.items.length === 0) return last
    end = page.items[0]!.position
  }
}

/**
 * The trim never cuts into the last turn. If the turn is longer than `maxHistory`, the item before the turn is the
 * first.
 */
async function turnStart(store: Store, session: Session, bounded: number): Promise<number> {
  let to = session.history.count
  while (to > 0) {
    const page = await store.history(session.id, { to, take: "end", limit: 200 })
    const user = page.items.findLast((item) => item.message.role === "user")
    if (user) return Math.max(0, Math.min(user.position - 1, bounded))
    to = page.items[0]?.position ?? 0
  }
  return 0
}

/** The messages of the context and of the request that are built from an item, without the texts, which they share. */
const contextBytes = 200
const toolContextBytes = 400

function itemBytes(item: HistoryItem): number {
  const calls = item.parts.reduce((count, { type }) => (type === "tool" ? count + 1 : count), 0)
  return heapBytes(item) + contextBytes + calls * toolContextBytes
}
