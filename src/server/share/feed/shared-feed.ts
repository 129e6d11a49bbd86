import { StemmaError } from "../../../protocol/index.ts"
import type { Stemma } from "../../../run/index.ts"
import type { Frame, Subscription } from "../../../stream/hub.ts"
import { messagesMax, type SharedReader, type SharedStretch, shownUnitsMax } from "./read-shared.ts"
import type { SharedEvent } from "./shared-event.ts"

/** What a reader of a shared session is sent. */
export interface SharedFrame {
  body: string
  cursor?: string
  isLast?: true
}

/** How far a reader is. */
export interface Place {
  key: string
  next: number
}

interface KeptMessage {
  position: number
  frame: SharedFrame
}

/** As much as is handed on before a reader must have taken it. */
const batchUnits = 64 * 1024
/** For so long readers are told nothing, rather than that it is over. */
const hiddenMaxMs = 10_000
const hiddenLookMs = 1000

/**
 * One shared session with readers: follows it once for all of them, and keeps the newest messages as they are sent. Readers take
 * from these when they can, so a slow one holds nothing up and nothing is kept for it.
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
  #include: SharedStretch["include"] = { reasoning: false, tools: false }
  #from = 0
  #next = 0
  #kept: KeptMessage[] = []
  #keptUnits = 0
  #state: "open" | "ended" | "changed" | "failed" = "open"
  #refreshing: Promise<void> = Promise.resolve()
  /** Since when nobody may see it, though it is shared. */
  #hiddenMs: number | undefined
  readonly #listeners = new Set<() => void>()

  constructor(options: {
    secret: string
    sessionID: string
    stemma: Stemma
    reader: SharedReader
    /** Called once, when it follows the session no longer. */
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

  /** Calls back whenever there may be more to take, also at the end. The function returned ends it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#end("failed")
  }

  /** Resolves when what it has is to be seen as it is with that key. */
  async freshen(key: string): Promise<void> {
    await this.ready
    if (key !== this.#key) await this.#refresh()
  }

  /** What comes next for a reader at that place, a batch of it; nothing if it has all. Undefined ends its stream. */
  take(location: Place | undefined, header: string | undefined): SharedBatch | undefined {
    if (this.#state === "failed") return undefined
    if (this.#state !== "open") {
      const frames: SharedFrame[] = [{ body: bodyOf({ type: this.#state }), isLast: true }]
      return { frames, location: location ?? { key: this.#key, next: 0 }, header: "" }
    }
    if (this.#hiddenMs !== undefined) {
      return { frames: [], location: location ?? { key: "", next: 0 }, header: header ?? "" }
    }
    const isKnown = location !== undefined && location.key === this.#key
    const isHere = isKnown && location.next >= this.#from && location.next <= this.#next
    const frames: SharedFrame[] = isHere ? [] : [{ body: bodyOf({ type: "reset" }) }]
    if (header !== this.#header || !isHere) frames.push({ body: this.#header })
    return this.#fill(frames, isHere ? location.next : this.#from)
  }

  #fill(frames: SharedFrame[], from: number): SharedBatch {
    let units = 0
    let next = from
    for (const { position, frame } of this.#kept) {
      if (position < next) continue
      if (units >= batchUnits) return { frames, location: { key: this.#key, next }, header: this.#header }
      frames.push(frame)
      units += frame.body.length
      next = position + 1
    }
    if (frames.length > 0) frames.push(this.#synced())
    return { frames, location: { key: this.#key, next: this.#next }, header: this.#header }
  }

  #synced(): SharedFrame {
    return {
      body: bodyOf({ type: "synced" }),
      cursor: cursorOf({ key: this.#key, next: this.#next }),
    }
  }

  async #start(): Promise<void> {
    const subscription = await this.#subscribe()
    const stretch = await this.#reader.last(this.#secret)
    if (!stretch) throw new StemmaError("not_found", "Nothing is shared here.")
    this.#include = stretch.include
    this.#begin(stretch)
    this.#follow(subscription)
      .catch(() => {})
      .finally(() => this.#end("failed"))
  }

  async #subscribe(): Promise<Subscription> {
    const subscription = this.#stemma.subscribe({ scope: { sessionID: this.#sessionID }, as: "rows" })
    this.#subscription = subscription
    await subscription.ready
    if (!this.isOpen) subscription.close()
    return subscription
  }

  /** Frames only tell that something changed: what is shown is read anew, as it is then. */
  async #follow(first: Subscription): Promise<void> {
    for (let subscription = first; this.isOpen; subscription = await this.#subscribe()) {
      if (subscription !== first) await this.#refresh()
      let isLagged = false
      for await (const frames of subscription.batches()) {
        isLagged = frames.some((frame) => "lagged" in frame)
        if (frames.some(isNews)) await this.#refresh()
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
      const stretch = await this.#reader.from(this.#secret, this.#next)
      if (!this.isOpen) return
      if (!stretch) return this.#hide()
      this.#hiddenMs = undefined
      const { reasoning, tools } = this.#include
      if (stretch.include.reasoning !== reasoning || stretch.include.tools !== tools)
        return this.#end("changed")
      if (stretch.key !== this.#key) {
        const whole = await this.#reader.last(this.#secret)
        if (!whole) return this.#hide()
        this.#begin(whole)
        continue
      }
      const isFurther = stretch.next > this.#next
      this.#add(stretch)
      if (!isFurther) return
    }
  }

  /** Ends it, unless it is shared still: a config file that is being written says nothing for a moment. */
  async #hide(): Promise<void> {
    const isShared = await this.#reader.isShared(this.#secret)
    const nowMs = performance.now()
    this.#hiddenMs ??= nowMs
    if (!isShared || nowMs - this.#hiddenMs > hiddenMaxMs) return this.#end("ended")
    setTimeout(() => {
      if (this.isOpen) this.#refresh().catch(() => this.#end("failed"))
    }, hiddenLookMs).unref()
  }

  #begin(stretch: SharedStretch): void {
    this.#key = stretch.key
    this.#from = stretch.from
    this.#kept = []
    this.#keptUnits = 0
    this.#add(stretch)
  }

  #add({ header, key, messages, next }: SharedStretch): void {
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
    for (const listener of this.#listeners) listener()
  }
}

export interface SharedBatch {
  frames: SharedFrame[]
  location: Place
  header: string
}

function isNews(frame: Frame): boolean {
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

export function cursorOf({ key, next }: Place): string {
  return `${key}.${next}`
}

/** Undefined for what is no cursor of ours: then everything is sent. */
export function placeOf(cursor: string | undefined): Place | undefined {
  const match = /^([A-Za-z0-9_-]{16})\.(\d{1,9})$/.exec(cursor ?? "")
  return match ? { key: match[1]!, next: Number(match[2]) } : undefined
}

function bodyOf(event: SharedEvent): string {
  return JSON.stringify(event)
}
