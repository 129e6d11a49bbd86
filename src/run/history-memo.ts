import type { HistoryItem, PartOf, Session } from "../protocol/index.ts"
import {
  type ContextMessage,
  context,
  type GrowingContext,
  growingContext,
  trimItems,
} from "../session/index.ts"
import type { Store } from "../stores/store.ts"
import { findMessage } from "./waiters.ts"

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
  #growing: GrowingContext | undefined
  /** By item: the message of the growing context with which it begins. */
  #starts: number[] = []
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
    // An item that was open when it was read has changed since.
    if (this.last && !this.last.sealed) this.#dropLast()
    this.#epoch = history.epoch
    this.#segment = history.segment
    while (this.count < history.count) {
      const page = await store.history(session.id, { from: this.count, take: "start", limit: pageLimit })
      if (page.items.length === 0) break
      for (const item of page.items) this.add(item)
    }
  }

  add(item: HistoryItem): void {
    this.#items.push(item)
    this.size += sizeOf(item)
  }

  /** The open message has been sealed. */
  replaceLast(item: HistoryItem): void {
    this.#dropLast()
    this.add(item)
  }

  /** What the model is shown: all that is sealed. No revert mark may be set. */
  context(options: { maxHistory?: number }): readonly ContextMessage[] {
    const items = this.last?.sealed === false ? this.#items.slice(0, -1) : this.#items
    if (!this.#grow(items)) return context(items, options)
    const left = items.length - trimItems(items, options.maxHistory).length
    // A copy, since whoever was given it may look at it later.
    const messages = this.#growing!.messages.slice(this.#starts[left])
    return messages.length > 0 && messages[0]!.role !== "user" ? context(items, options) : messages
  }

  /** False if something changes what the model is shown of earlier items. */
  #grow(items: readonly HistoryItem[]): boolean {
    if (this.#growing === undefined) {
      this.#growing = growingContext()
      this.#starts = []
    }
    while (this.#starts.length < items.length) {
      const start = this.#growing.messages.length
      if (!this.#growing.add(items[this.#starts.length]!)) {
        this.#growing = undefined
        return false
      }
      this.#starts.push(start)
    }
    return true
  }

  #dropLast(): void {
    const item = this.#items.pop()
    if (item) this.size -= sizeOf(item)
    if (this.#starts.length > this.#items.length) this.#growing = undefined
  }

  #reset(start: number): void {
    this.#items = []
    this.#start = start
    this.size = 0
    this.told = 0
    this.#growing = undefined
  }
}

/** Where the context of a session begins at the earliest. */
async function firstPosition(store: Store, session: Session): Promise<number> {
  const page = await store.history(session.id, { having: "compaction", take: "end", limit: 10 })
  const last = page.items.findLast((item) => item.sealed && item.parts.some(isSummary))
  if (last) {
    const keptID = (last.parts.find(isSummary) as PartOf<"compaction">).firstKeptEntryId
    if (keptID === undefined) return last.position
    const kept = await findMessage(store, session.id, keptID)
    return Math.min(last.position, kept?.position ?? last.position)
  }
  const { maxHistory, history } = session
  if (maxHistory === undefined || history.count <= maxHistory) return 0
  return turnStart(store, session, history.count - maxHistory)
}

/** The trim never cuts into the last turn: if that is longer than `maxHistory`, it begins earlier. */
async function turnStart(store: Store, session: Session, bounded: number): Promise<number> {
  let to = session.history.count
  while (to > 0) {
    const page = await store.history(session.id, { to, take: "end", limit: 200 })
    const user = page.items.findLast((item) => item.message.role === "user")
    if (user) return Math.min(user.position, bounded)
    to = page.items[0]?.position ?? 0
  }
  return 0
}

function isSummary(part: { type: string; summary?: unknown }): boolean {
  return part.type === "compaction" && part.summary !== undefined
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
