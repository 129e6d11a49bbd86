import { StemmaError } from "../../../protocol/index.ts"
import type { Stemma } from "../../../run/index.ts"
import type { Frame, Subscription } from "../../../stream/hub.ts"
import { messagesMax, type SharedRange, type SharedReader, shownUnitsMax } from "./read-shared.ts"
import type { SharedEvent } from "./shared-event.ts"

/** One frame of the stream. */
export interface SharedFrame {
  body: string
  cursor?: string
  isLast?: true
}

/** How far a reader has read. */
export interface FeedPosition {
  key: string
  next: number
}

interface KeptMessage {
  position: number
  frame: SharedFrame
}

/** A batch ends after this much text, so that a reader takes it before the next one. */
const batchUnits = 64 * 1024
/** How long a share that cannot be seen stays open before its stream ends. */
const hiddenMaxMs = 10_000
const hiddenCheckMs = 1000

/**
 * Follows one shared session for all its readers, and keeps the newest messages in serialised form. Readers take frames
 * at their own speed, so a slow reader delays no other reader and needs no buffer of its own.
 */
export class SharedFeed {
  readonly ready: Promise<void>
  readonly #secret: string
  readonly #stemma: Stemma
  readonly #reader: SharedReader
  readonly #sessionID: string
  readonly #onEnd: () => void
  #subscription: Subscription | undefined
  #key = ""
  #header = ""
  #include: SharedRange["include"] = { reasoning: false, tools: false }
  #from = 0
  #next = 0
  #kept: KeptMessage[] = []
  #keptUnits = 0
  #state: "open" | "ended" | "changed" | "failed" = "open"
  #refreshing: Promise<void> = Promise.resolve()
  /** Since when the session cannot be seen, though it is shared. */
  #hiddenMs: number | undefined
  readonly #subscribers = new Set<() => void>()

  constructor(options: {
    secret: string
    sessionID: string
    stemma: Stemma
    reader: SharedReader
    /** Called once, when the feed stops following the session. */
    onEnd: () => void
  }) {
    this.#secret = options.secret
    this.#sessionID = options.sessionID
    this.#stemma = options.stemma
    this.#reader = options.reader
    this.#onEnd = options.onEnd
    this.ready = this.#start()
    this.ready.catch(() => this.#end("failed"))
  }

  get isOpen(): boolean {
    return this.#state === "open"
  }

  /** Calls `listener` whenever there may be more frames, and at the end. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#subscribers.add(listener)
    return () => this.#subscribers.delete(listener)
  }

  close(): void {
    this.#end("failed")
  }

  /** Resolves when the feed is at least as new as the given key. */
  async refreshTo(key: string): Promise<void> {
    await this.ready
    if (key !== this.#key) await this.#refresh()
  }

  /** The next batch of frames for a reader, empty if the reader has them all. Undefined ends the stream. */
  take(position: FeedPosition | undefined, header: string | undefined): SharedBatch | undefined {
    if (this.#state === "failed") return undefined
    if (this.#state !== "open") {
      const frames: SharedFrame[] = [{ body: bodyOf({ type: this.#state }), isLast: true }]
      return { frames, position: position ?? { key: this.#key, next: 0 }, header: "" }
    }
    if (this.#hiddenMs !== undefined) {
      return { frames: [], position: position ?? { key: "", next: 0 }, header: header ?? "" }
    }
    const isKnown = position !== undefined && position.key === this.#key
    const isHere = isKnown && position.next >= this.#from && position.next <= this.#next
    const frames: SharedFrame[] = isHere ? [] : [{ body: bodyOf({ type: "reset" }) }]
    if (header !== this.#header || !isHere) frames.push({ body: this.#header })
    return this.#fill(frames, isHere ? position.next : this.#from)
  }

  #fill(frames: SharedFrame[], from: number): SharedBatch {
    let units = 0
    let next = from
    for (const { position, frame } of this.#kept) {
      if (position < next) continue
      if (units >= batchUnits) return { frames, position: { key: this.#key, next }, header: this.#header }
      frames.push(frame)
      units += frame.body.length
      next = position + 1
    }
    if (frames.length > 0) frames.push(this.#synced())
    return { frames, position: { key: this.#key, next: this.#next }, header: this.#header }
  }

  #synced(): SharedFrame {
    return {
      body: bodyOf({ type: "synced" }),
      cursor: cursorOf({ key: this.#key, next: this.#next }),
    }
  }

  async #start(): Promise<void> {
    const subscription = await this.#subscribeToHub()
    const range = await this.#reader.last(this.#secret)
    if (!range) throw new StemmaError("not_found", "No session is shared at this address.")
    this.#include = range.include
    this.#restart(range)
    this.#follow(subscription)
      .catch(() => {})
      .finally(() => this.#end("failed"))
  }

  async #subscribeToHub(): Promise<Subscription> {
    const subscription = this.#stemma.subscribe({ scope: { sessionID: this.#sessionID }, as: "rows" })
    this.#subscription = subscription
    await subscription.ready
    if (!this.isOpen) subscription.close()
    return subscription
  }

  /** Frames only show that something changed. The visible messages are then read again in their current state. */
  async #follow(first: Subscription): Promise<void> {
    for (let subscription = first; this.isOpen; subscription = await this.#subscribeToHub()) {
      if (subscription !== first) await this.#refresh()
      let isLagged = false
      for await (const frames of subscription.batches()) {
        isLagged = frames.some((frame) => "lagged" in frame)
        if (frames.some(isVisibleChange)) await this.#refresh()
        if (!this.isOpen) return
      }
      if (!isLagged) return
    }
  }

  #refresh(): Promise<void> {
    const refreshing = this.#refreshing.catch(() => {}).then(() => this.#refreshNow())
    this.#refreshing = refreshing
    return refreshing
  }

  async #refreshNow(): Promise<void> {
    for (;;) {
      const range = await this.#reader.from(this.#secret, this.#next)
      if (!this.isOpen) return
      if (!range) return this.#endUnlessShared()
      this.#hiddenMs = undefined
      const { reasoning, tools } = this.#include
      if (range.include.reasoning !== reasoning || range.include.tools !== tools) return this.#end("changed")
      if (range.key !== this.#key) {
        const whole = await this.#reader.last(this.#secret)
        if (!whole) return this.#endUnlessShared()
        this.#restart(whole)
        continue
      }
      const isFurther = range.next > this.#next
      this.#add(range)
      if (!isFurther) return
    }
  }

  /**
   * Ends the feed, unless the session is still shared: a config file that is being written is unreadable for a moment.
   */
  async #endUnlessShared(): Promise<void> {
    const isShared = await this.#reader.isShared(this.#secret)
    const nowMs = performance.now()
    this.#hiddenMs ??= nowMs
    if (!isShared || nowMs - this.#hiddenMs > hiddenMaxMs) return this.#end("ended")
    setTimeout(() => {
      if (this.isOpen) this.#refresh().catch(() => this.#end("failed"))
    }, hiddenCheckMs).unref()
  }

  #restart(range: SharedRange): void {
    this.#key = range.key
    this.#from = range.from
    this.#kept = []
    this.#keptUnits = 0
    this.#add(range)
  }

  #add({ header, key, messages, next }: SharedRange): void {
    this.#header = bodyOf({ type: "session", properties: header })
    this.#next = next
    for (const message of messages) {
      const body = bodyOf({ type: "message", properties: message })
      const cursor = cursorOf({ key, next: message.position + 1 })
      this.#kept.push({ position: message.position, frame: { body, cursor } })
      this.#keptUnits += body.length
    }
    while (
      this.#kept.length > 1 &&
      (this.#kept.length > messagesMax || this.#keptUnits > 4 * shownUnitsMax)
    ) {
      const { position, frame } = this.#kept.shift()!
      this.#keptUnits -= frame.body.length
      this.#from = position + 1
    }
    this.#wake()
  }

  #end(state: "ended" | "changed" | "failed"): void {
    if (!this.isOpen) return
    this.#state = state
    this.#kept = []
    this.#subscription?.close()
    this.#onEnd()
    this.#wake()
  }

  #wake(): void {
    for (const listener of this.#subscribers) listener()
  }
}

export interface SharedBatch {
  frames: SharedFrame[]
  position: FeedPosition
  header: string
}

function isVisibleChange(frame: Frame): boolean {
  if (!("row" in frame)) return "lagged" in frame
  const { row } = frame
  switch (row.type) {
    case "session":
    case "removed":
    case "history":
      return true
    case "message":
      return row.sealed
    default:
      return false
  }
}

export function cursorOf({ key, next }: FeedPosition): string {
  return `${key}.${next}`
}

/** Undefined if the cursor is not valid: then all messages are sent. */
export function positionOf(cursor: string | undefined): FeedPosition | undefined {
  const match = /^([A-Za-z0-9_-]{16})\.(\d{1,9})$/.exec(cursor ?? "")
  return match ? { key: match[1]!, next: Number(match[2]) } : undefined
}

function bodyOf(event: SharedEvent): string {
  return JSON.stringify(event)
}
