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
import type { Counted } from "./next-call-tokens.ts"

const pageLimit = 1000

/**
 * What a run remembers of a session's history, from the message at which the context begins. It is brought up to date by
 * reading only what is new, so that a step costs what it adds and not what there was before.
 */
export class HistoryMemo {
  #items: HistoryItem[] = []
  /** The position of the first item. */
  #start = 0
  #epoch = -1
  #segment = ""
  /** The `maxHistory` for which the first item was chosen. */
  #bound = 0
  #growing: Growing | undefined
  /** The items without the open one, while there is one. */
  #withoutOpen: readonly HistoryItem[] | undefined
  /** The session's first prompt, if it is to stay in the context, and what the model is shown of it. */
  #first: { position: number; messages: readonly ContextMessage[] } | undefined
  /** The last call whose tokens the provider counted. */
  counted: Counted | undefined
  /** About how many characters the items hold. */
  size = 0
  /** The count when those who wait for answers were last told: to look through a long history for nothing takes time. */
  told = 0

  /** The items from where the context begins, an open one included. */
  get items(): readonly HistoryItem[] {
    return this.#items
  }

  get count(): number {
    return this.#start + this.#items.length
  }

  get last(): HistoryItem | undefined {
    return this.#items.at(-1)
  }

  /** Reads what is missing. */
  async refresh(store: Store, session: Session): Promise<void> {
    const { history } = session
    const isSame = this.#epoch === history.epoch && this.#segment === history.segment
    const bound = session.maxHistory ?? Number.POSITIVE_INFINITY
    // With a higher bound, items are wanted that were not read.
    if (!isSame || this.count > history.count || bound > this.#bound) {
      this.#reset(await firstPosition(store, session))
      this.#bound = bound
    }
    this.#dropHidden()
    // An item that was open when it was read has changed since.
    if (this.last && !this.last.sealed) this.#dropLast()
    this.#epoch = history.epoch
    this.#segment = history.segment
    const compactions = await this.#read(store, session)
    if (compactions === 0 || this.#start === 0 || this.#hasKept()) return
    // Somebody who had read more than we has compacted, and keeps items that we have not read.
    const start = await firstPosition(store, session)
    if (start >= this.#start) return
    this.#reset(start)
    await this.#read(store, session)
  }

  /** Reads to the end, and says how many compactions were among it. */
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

  /** True if the item that the last compaction keeps first is known. */
  #hasKept(): boolean {
    const { compaction, start } = this.base
    const kept = compaction?.firstKeptEntryId
    return kept === undefined || this.#items[start]?.message.id === kept
  }

  add(item: HistoryItem): void {
    this.#items.push(item)
    this.#withoutOpen = undefined
    this.size += sizeOf(item)
  }

  /** A message that was just appended, sealed. */
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

  /** The open message has been sealed. */
  replaceLast(item: HistoryItem): void {
    this.#dropLast()
    this.add(item)
  }

  /** What the model is shown: all that is sealed. No revert mark may be set. */
  context(options: MemoContextOptions): readonly ContextMessage[] {
    return this.shown(options).messages
  }

  /** The same, with about how many tokens it is. */
  shown(options: MemoContextOptions): { messages: readonly ContextMessage[]; tokens: number } {
    const { messages, summary, start, first, tokens, isWhole } = this.#cut(options)
    // A copy, since whoever was given it may look at it later.
    if (isWhole) return { messages: messages.slice(), tokens }
    if (tokens >= 0) return { messages: messages.toSpliced(summary, start - summary, ...first), tokens }
    const { maxHistory } = options
    const built = context(this.sealed, { ...(maxHistory !== undefined && { maxHistory }) })
    return { messages: built, tokens: sumTokens(built) }
  }

  /** About how many tokens the model is shown. */
  shownTokens(options: MemoContextOptions): number {
    const { tokens } = this.#cut(options)
    return tokens >= 0 ? tokens : this.shown(options).tokens
  }

  /** Which messages of the growing context are shown. Its tokens are negative where it has to be built by itself. */
  #cut({ maxHistory, keepsFirst }: MemoContextOptions): Cut {
    const items = this.sealed
    const { base, context, starts, tokens } = this.#grow(items)
    const { messages } = context
    const left = trimStart(items, { maxHistory, from: base.start }) - base.start
    const isCut = left > 0 || base.compaction !== undefined
    const first = keepsFirst && isCut ? this.#firstBefore(items[base.start + left]) : []
    const summary = starts[0] ?? messages.length
    const start = starts[left] ?? messages.length
    const isWhole = left === 0 && first.length === 0
    const isUser = isWhole || summary + first.length > 0 || messages[start]?.role === "user"
    const shown = isWhole
      ? tokens.at(-1)!
      : tokens[summary]! + sumTokens(first) + tokens.at(-1)! - tokens[start]!
    return { messages, summary, start, first, isWhole, tokens: isUser ? shown : -1 }
  }

  /** What is shown of the session's first prompt, unless it is that item or after it. */
  #firstBefore(item: HistoryItem | undefined): readonly ContextMessage[] {
    if (!this.#first || (item && item.position <= this.#first.position)) return []
    return this.#first.messages
  }

  /** The items without an open one at the end. */
  get sealed(): readonly HistoryItem[] {
    if (this.last?.sealed !== false) return this.#items
    this.#withoutOpen ??= this.#items.slice(0, -1)
    return this.#withoutOpen
  }

  /** What the last compaction and the prune marks say. */
  get base(): ContextBase {
    return this.#grow(this.sealed).base
  }

  /** About how many tokens the sealed item at that index is in the context. */
  tokensAt(index: number): number {
    const { base, context, starts, tokens } = this.#grow(this.sealed)
    const at = index - base.start
    return tokens[starts[at + 1] ?? context.messages.length]! - tokens[starts[at]!]!
  }

  /** About how many tokens the session's first prompt adds to a context that has the items from that index on. */
  firstTokensBefore(index: number): number {
    if (!this.#first || this.#first.position >= this.#start + index) return 0
    return sumTokens(this.#first.messages)
  }

  #grow(items: readonly HistoryItem[]): Growing {
    let growing = this.#growing
    // What an open message hides is hidden from the call that it is for.
    const all = this.#items
    for (let index = growing?.seen ?? 0; growing && index < all.length; index++) {
      if (changesBase(all[index]!)) growing = undefined
    }
    if (!growing) {
      const base = contextBase(all)
      growing = { base, seen: 0, context: growingContext(base), starts: [], tokens: [0] }
      this.#growing = growing
      countTokens(growing)
    }
    growing.seen = all.length
    for (let index = growing.base.start + growing.starts.length; index < items.length; index++) {
      growing.starts.push(growing.context.messages.length)
      growing.context.add(items[index]!)
      countTokens(growing)
    }
    return growing
  }

  #dropLast(): void {
    const item = this.#items.pop()
    if (!item) return
    this.#withoutOpen = undefined
    this.size -= sizeOf(item)
    const growing = this.#growing
    if (!growing) return
    const { length } = this.#items
    const isShown = growing.base.start + growing.starts.length > length
    if (isShown || (growing.seen > length && changesBase(item))) this.#growing = undefined
    else growing.seen = Math.min(growing.seen, length)
  }

  /** What a compaction hides is needed no more. */
  #dropHidden(): void {
    const growing = this.#growing
    if (!growing || growing.base.start === 0) return
    for (const item of this.#items.splice(0, growing.base.start)) this.size -= sizeOf(item)
    this.#withoutOpen = undefined
    this.#start += growing.base.start
    growing.seen -= growing.base.start
    growing.base = { ...growing.base, start: 0 }
  }

  /** Makes sure that the session's first prompt is known. */
  async readFirst(store: Store, sessionID: string): Promise<void> {
    if (this.#first) return
    const page = await store.history(sessionID, { from: 0, take: "start", limit: 10 })
    const item = page.items.find(({ sealed, message }) => sealed && message.role === "user")
    if (item) this.#first = { position: item.position, messages: context([item]).map(shortened) }
  }

  #reset(start: number): void {
    this.#items = []
    this.#withoutOpen = undefined
    this.#first = undefined
    this.#start = start
    this.size = 0
    this.told = 0
    this.#growing = undefined
  }
}

export interface MemoContextOptions {
  maxHistory?: number
  /** The session's first prompt stays, whatever is trimmed or compacted. */
  keepsFirst?: boolean
}

interface Cut {
  messages: readonly ContextMessage[]
  /** The messages from `summary` to before `start` are left out, and `first` stands in their place. */
  summary: number
  start: number
  first: readonly ContextMessage[]
  isWhole: boolean
  tokens: number
}

interface Growing {
  base: ContextBase
  /** How many items the base knows, an open one included. */
  seen: number
  context: GrowingContext
  /** By item from the base's start: the message of the context with which it begins. */
  starts: number[]
  /** By message: about how many tokens come before it; at the end, all. */
  tokens: number[]
}

function countTokens({ context: { messages }, tokens }: Growing): void {
  for (let index = tokens.length - 1; index < messages.length; index++) {
    tokens.push(tokens[index]! + estimateContextTokens(messages[index]!))
  }
}

const firstTokensMax = 4_000

/** A first prompt that fills the window would leave no room for anything else. */
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

/** Where the context of a session begins at the earliest. */
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
  // One more than the trim keeps, so that it is seen to trim; and the last one may be open, and is not shown then.
  const bounded = history.count - maxHistory - 2
  return bounded > 0 ? turnStart(store, session, bounded) : 0
}

/** The last compaction that is done, before `to`. */
async function lastCompaction(
  store: Store,
  sessionID: string,
  to: number | undefined,
): Promise<HistoryItem | undefined> {
  // It is mostly the last of all, and they are long.
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

/** The trim never cuts into the last turn: if that is longer than `maxHistory`, the item before it is the first. */
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

function sizeOf(item: HistoryItem): number {
  let size = 200
  for (const part of item.parts) {
    if (part.type === "text" || part.type === "reasoning") size += part.text.length
    else if (part.type === "tool") size += part.state.status === "completed" ? part.state.output.length : 200
    else size += 100
  }
  return size
}
