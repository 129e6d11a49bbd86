import type { AssistantBody, GrowingField, HistoryItem, PartBody, ToolState } from "../../protocol/index.ts"
import { cleanText } from "../../session/index.ts"
import type { Op } from "../../stores/commit.ts"
import type { Hub } from "../../stream/hub.ts"
import type { RunWriter } from "../schedule/writer.ts"

const flushEveryMs = 50
const flushUnits = 16 * 1024

/** A text that grows while its part is open. */
interface Growing {
  partID: string
  field: GrowingField
  /** What was handed to the store. */
  stored: string
  /** What comes after it and waits for the next flush: apart, since a slice of a text that was just added to copies it. */
  waiting: string
  /** A high surrogate that waits for its other half. */
  carry: string
}

/**
 * The open message of a run: its parts as they are in the store or on their way there. Growing text is shown at once and
 * committed as pieces every 50 ms or 16 KiB; everything else is handed in at once.
 */
export class OpenMessage {
  readonly #writer: RunWriter
  readonly #hub: Hub
  readonly sessionID: string
  readonly position: number
  message: AssistantBody
  readonly parts: PartBody[]
  readonly #growing = new Map<string, Growing>()
  /** The one that grew last: mostly it grows next. */
  #last: Growing | undefined
  #waitingUnits = 0
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

  /** Puts a part and hands it in. What had grown in it is replaced. */
  put(part: PartBody): void {
    this.#writer.push([...this.flushOps(), this.putOp(part)])
  }

  /** The operation that puts a part, for a commit of the caller's; ends its growing. */
  putOp(part: PartBody): Op {
    this.#forget(part.id)
    this.#keep(part)
    return { op: "part.put", sessionID: this.sessionID, messageID: this.message.id, part }
  }

  /** Puts a part whose text goes on growing: its growing fields are empty or absent. */
  putGrowing(part: PartBody): void {
    this.#keep(part)
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

  /** Drops the parts from index `keep` on: a try that failed. */
  truncateOp(keep: number): Op {
    for (const part of this.parts.splice(keep)) this.#forget(part.id)
    return { op: "part.truncate", sessionID: this.sessionID, messageID: this.message.id, keep }
  }

  grow(partID: string, field: GrowingField, delta: string): void {
    const growing = this.#last?.partID === partID ? this.#last : this.#growingOf(partID, field)
    const text = takeWhole(growing, delta)
    if (text === "") return
    this.#hub.delta({
      sessionID: this.sessionID,
      messageID: this.message.id,
      partID,
      field,
      offset: growing.stored.length + growing.waiting.length,
      delta: text,
    })
    growing.waiting += text
    this.#waitingUnits += text.length
    if (this.#waitingUnits >= flushUnits) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), flushEveryMs)
  }

  #growingOf(partID: string, field: GrowingField): Growing {
    let growing = this.#growing.get(partID)
    if (!growing) {
      growing = { partID, field, stored: "", waiting: "", carry: "" }
      this.#growing.set(partID, growing)
    }
    this.#last = growing
    return growing
  }

  /** No more of its text comes by `grow`. */
  #forget(partID: string): void {
    this.#growing.delete(partID)
    if (this.#last?.partID === partID) this.#last = undefined
  }

  /** The text that has grown in a part so far. */
  grown(partID: string): string {
    const growing = this.#growing.get(partID)
    return growing ? growing.stored + growing.waiting + cleanText(growing.carry) : ""
  }

  flush(): void {
    this.#writer.push(this.flushOps())
  }

  /** The pieces that wait, for a commit of the caller's. */
  flushOps(): Op[] {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waitingUnits === 0) return []
    this.#waitingUnits = 0
    const ops: Op[] = []
    for (const growing of this.#growing.values()) {
      const { partID, field, stored, waiting } = growing
      if (waiting === "") continue
      ops.push({
        op: "piece.add",
        sessionID: this.sessionID,
        messageID: this.message.id,
        partID,
        field,
        offset: stored.length,
        text: waiting,
      })
      growing.stored += waiting
      growing.waiting = ""
    }
    return ops
  }

  /**
   * Ends a growing text or reasoning part: a short one is written whole, a long one keeps its pieces, since rewriting
   * what is stored costs as much again.
   */
  endTextOps(part: Extract<PartBody, { type: "text" | "reasoning" }>): Op[] {
    const growing = this.#growing.get(part.id)
    // A part that another process began has its text already.
    const text = growing ? this.grown(part.id) : part.text
    const { sessionID } = this
    const messageID = this.message.id
    if (!growing || growing.stored === "") return [this.putOp({ ...part, text })]
    if (growing.carry !== "") {
      growing.waiting += cleanText(growing.carry)
      growing.carry = ""
      this.#waitingUnits++
    }
    const pieces = this.flushOps()
    this.#forget(part.id)
    this.#keep({ ...part, text })
    return [
      ...pieces,
      { op: "part.put", sessionID, messageID, part: { ...part, text: "" }, grown: "keep" as const },
    ]
  }

  /** Changes the state of a call: a settled one is final. */
  toolOp(partID: string, state: ToolState): Op {
    const part = this.tool(partID)
    return this.putOp({ ...part, state })
  }

  tool(partID: string): Extract<PartBody, { type: "tool" }> {
    const part = this.parts.find((candidate) => candidate.id === partID)
    if (part?.type !== "tool") throw new Error(`Part ${partID} is not a call of this message.`)
    return part
  }

  messageOp(fields: Partial<AssistantBody>): Op {
    this.message = { ...this.message, ...fields }
    return { op: "message.put", sessionID: this.sessionID, message: this.message }
  }

  sealOp(fields: Partial<AssistantBody>): Op {
    this.stop()
    this.message = { ...this.message, ...fields }
    return {
      op: "message.seal",
      sessionID: this.sessionID,
      messageID: this.message.id,
      message: this.message,
    }
  }

  /** No more timers. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** The message as the history has it once it is sealed. */
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

  #keep(part: PartBody): void {
    const index = this.parts.findIndex((candidate) => candidate.id === part.id)
    if (index >= 0) this.parts[index] = part
    else this.parts.push(part)
  }
}

/** A delta as it can be kept; half a surrogate pair at its end waits for the other half. */
function takeWhole(growing: Growing, delta: string): string {
  const whole = growing.carry === "" ? delta : growing.carry + delta
  const isCut = isHighSurrogate(whole.charCodeAt(whole.length - 1))
  if (!isCut && growing.carry === "") return cleanText(whole)
  growing.carry = isCut ? whole.slice(-1) : ""
  return cleanText(isCut ? whole.slice(0, -1) : whole)
}

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800
}
