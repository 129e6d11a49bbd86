import type { AssistantBody, GrowingField, HistoryItem, PartBody, ToolState } from "../../protocol/index.ts"
import { cleanText } from "../../session/index.ts"
import type { Op } from "../../stores/commit.ts"
import type { Hub } from "../../stream/hub.ts"
import type { RunWriter } from "../schedule/writer.ts"

const flushEveryMs = 50
/** Text that waits for its commit is committed sooner, because a person waits for it. */
const flushWaitingEveryMs = 20
const flushUnits = 16 * 1024

/** A text field that grows while its part is open. */
interface GrowingText {
  partID: string
  field: GrowingField
  /** Text that was handed to the store. */
  stored: string
  /** Text for the next flush. A field of its own, since slicing a string that was just appended to copies all of it. */
  unflushed: string
  /** A high surrogate at the end of a delta, until the low surrogate arrives with the next one. */
  heldSurrogate: string
}

/**
 * The open message of a run, with its parts as the store has them or will have them. Growing text is sent to
 * subscribers at once and committed as pieces every 50 ms or 16 Ki characters; everything else goes to the writer at
 * once. While the store does not keep up, growing text is not sent: subscribers receive it with the commit of its piece.
 * So a crash loses at most the text that was sent in 100 ms, however slow the disk is.
 */
export class OpenMessage {
  readonly #writer: RunWriter
  readonly #hub: Hub
  readonly sessionID: string
  readonly position: number
  message: AssistantBody
  readonly parts: PartBody[]
  readonly #growing = new Map<string, GrowingText>()
  /** The text that grew last. The next delta is mostly for the same text, so this saves a lookup. */
  #lastGrown: GrowingText | undefined
  #unflushedUnits = 0
  /** When the oldest unflushed text arrived, and when text was last flushed, by `performance.now()`. */
  #unflushedSinceMs = 0
  #flushedMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(options: {
    writer: RunWriter
    hub: Hub
    position: number
    message: AssistantBody
    parts: readonly PartBody[]
  }) {
    this.#writer = options.writer
    this.sessionID = options.writer.sessionID
    this.#hub = options.hub
    this.position = options.position
    this.message = options.message
    this.parts = [...options.parts]
  }

  /** Writes a part. It replaces the text that has grown in the part so far. */
  put(part: PartBody): void {
    this.#writer.push([...this.flushOps(), this.putOp(part)])
  }

  /** The operation that writes a part, for the caller's commit. The part's text no longer grows. */
  putOp(part: PartBody): Op {
    this.#stopGrowing(part.id)
    this.#setPart(part)
    return { op: "part.put", sessionID: this.sessionID, messageID: this.message.id, part }
  }

  /** Writes a part whose text continues to grow. The growing fields of `part` must be empty or absent. */
  putGrowing(part: PartBody): void {
    this.#setPart(part)
    const { sessionID } = this
    const messageID = this.message.id
    this.#writer.push([
      ...this.flushOps(),
      {
        op: "part.put",
        sessionID,
        messageID,
        part,
        ...(this.#growing.has(part.id) && { grown: "keep" as const }),
      },
    ])
  }

  /** Removes the parts from index `keep` on, which a failed attempt has left. */
  truncateOp(keep: number): Op {
    for (const part of this.parts.splice(keep)) this.#stopGrowing(part.id)
    return { op: "part.truncate", sessionID: this.sessionID, messageID: this.message.id, keep }
  }

  grow(partID: string, field: GrowingField, delta: string): void {
    const growing = this.#lastGrown?.partID === partID ? this.#lastGrown : this.#growingOf(partID, field)
    const text = takeWholeCharacters(growing, delta)
    if (text === "") return
    const nowMs = performance.now()
    // The timer of a busy process fires late. The age of the text decides, not the timer.
    if (this.#unflushedUnits > 0 && nowMs - this.#unflushedSinceMs >= flushEveryMs) this.flush()
    const { pace } = this.#writer
    const isSent = pace.keepsUp(nowMs)
    if (isSent) {
      this.#hub.delta({
        sessionID: this.sessionID,
        messageID: this.message.id,
        partID,
        field,
        offset: growing.stored.length + growing.unflushed.length,
        delta: text,
      })
    }
    growing.unflushed += text
    if (this.#unflushedUnits === 0) this.#unflushedSinceMs = nowMs
    this.#unflushedUnits += text.length
    const isDue =
      this.#unflushedUnits >= flushUnits || (!isSent && pace.flushesWaiting(nowMs, this.#flushedMs))
    if (isDue) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), isSent ? flushEveryMs : flushWaitingEveryMs)
  }

  #growingOf(partID: string, field: GrowingField): GrowingText {
    let growing = this.#growing.get(partID)
    if (!growing) {
      growing = { partID, field, stored: "", unflushed: "", heldSurrogate: "" }
      this.#growing.set(partID, growing)
    }
    this.#lastGrown = growing
    return growing
  }

  #stopGrowing(partID: string): void {
    this.#growing.delete(partID)
    if (this.#lastGrown?.partID === partID) this.#lastGrown = undefined
  }

  /** The text that has grown in a part so far. */
  grownText(partID: string): string {
    const growing = this.#growing.get(partID)
    return growing ? growing.stored + growing.unflushed + cleanText(growing.heldSurrogate) : ""
  }

  flush(): void {
    this.#writer.push(this.flushOps())
  }

  /** The operations that store the unflushed text, for the caller's commit. */
  flushOps(): Op[] {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#unflushedUnits === 0) return []
    this.#unflushedUnits = 0
    this.#flushedMs = performance.now()
    this.#writer.pace.noticeDelay(this.#flushedMs - this.#unflushedSinceMs - flushEveryMs)
    const ops: Op[] = []
    for (const growing of this.#growing.values()) {
      const { partID, field, stored, unflushed } = growing
      if (unflushed === "") continue
      ops.push({
        op: "piece.add",
        sessionID: this.sessionID,
        messageID: this.message.id,
        partID,
        field,
        offset: stored.length,
        text: unflushed,
      })
      growing.stored += unflushed
      growing.unflushed = ""
    }
    return ops
  }

  /**
   * Ends a growing text or reasoning part. A part of which nothing is stored yet is written whole. Otherwise the stored
   * pieces stay, since writing the text again would double the cost.
   */
  endTextOps(part: Extract<PartBody, { type: "text" | "reasoning" }>): Op[] {
    const growing = this.#growing.get(part.id)
    // A part that another process began already holds its text.
    const text = growing ? this.grownText(part.id) : part.text
    const { sessionID } = this
    const messageID = this.message.id
    if (!growing || growing.stored === "") return [this.putOp({ ...part, text })]
    if (growing.heldSurrogate !== "") {
      growing.unflushed += cleanText(growing.heldSurrogate)
      growing.heldSurrogate = ""
      if (this.#unflushedUnits === 0) this.#unflushedSinceMs = performance.now()
      this.#unflushedUnits++
    }
    const pieces = this.flushOps()
    this.#stopGrowing(part.id)
    this.#setPart({ ...part, text })
    return [
      ...pieces,
      { op: "part.put", sessionID, messageID, part: { ...part, text: "" }, grown: "keep" as const },
    ]
  }

  /** The operation that changes the state of a tool call. A settled state is final. */
  toolOp(partID: string, state: ToolState): Op {
    const part = this.tool(partID)
    return this.putOp({ ...part, state })
  }

  tool(partID: string): Extract<PartBody, { type: "tool" }> {
    const part = this.parts.find((candidate) => candidate.id === partID)
    if (part?.type !== "tool")
      throw new Error(`Part ${partID} is not a tool call of message ${this.message.id}.`)
    return part
  }

  messageOp(fields: Partial<AssistantBody>): Op {
    this.message = { ...this.message, ...fields }
    return { op: "message.put", sessionID: this.sessionID, message: this.message }
  }

  sealOp(fields: Partial<AssistantBody>): Op {
    this.stopTimer()
    this.message = { ...this.message, ...fields }
    return {
      op: "message.seal",
      sessionID: this.sessionID,
      messageID: this.message.id,
      message: this.message,
    }
  }

  stopTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** The message as a sealed history item. */
  item(version: number): HistoryItem {
    const { sessionID, position } = this
    const messageID = this.message.id
    return {
      position,
      version,
      sealed: true,
      message: { ...this.message, sessionID },
      parts: this.parts.map((part) => ({ ...part, sessionID, messageID })),
    }
  }

  #setPart(part: PartBody): void {
    const index = this.parts.findIndex((candidate) => candidate.id === part.id)
    if (index >= 0) this.parts[index] = part
    else this.parts.push(part)
  }
}

/** The delta without half a surrogate pair at its end, which is held back until the other half arrives. */
function takeWholeCharacters(growing: GrowingText, delta: string): string {
  const whole = growing.heldSurrogate === "" ? delta : growing.heldSurrogate + delta
  const isCut = isHighSurrogate(whole.charCodeAt(whole.length - 1))
  if (!isCut && growing.heldSurrogate === "") return cleanText(whole)
  growing.heldSurrogate = isCut ? whole.slice(-1) : ""
  return cleanText(isCut ? whole.slice(0, -1) : whole)
}

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800
}
