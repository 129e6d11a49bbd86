import type { HistoryItem, Message, Part, PartOf, ToolState } from "../../src/protocol/index.ts"
import {
  contextBase,
  cutTail,
  estimateMessageTokens,
  planPrune,
  planTail,
  prunedParts,
} from "../../src/session/index.ts"
import { assistant, part, text, tool, user } from "../../src/session/samples.ts"
import type { Draw } from "./draw.ts"

/** A history that grows: turns, compactions, prunes, and cuts by a fork or a committed revert. */
export class HistoryStory {
  items: HistoryItem[] = []
  #next = 0

  /** A word that occurs nowhere else. */
  mark(): string {
    return `MARK${String(this.#next++).padStart(5, "0")}`
  }

  id(kind: "msg" | "prt"): string {
    return `${kind}_${this.#next++}`
  }

  add(message: Message, parts: Part[], fields: { sealed?: boolean } = {}): HistoryItem {
    const position = this.items.length
    const item: HistoryItem = {
      position,
      version: position + 1,
      sealed: fields.sealed ?? true,
      message,
      parts: parts.map((each) => ({ ...each, messageID: message.id })),
    }
    this.items.push(item)
    return item
  }

  words(draw: Draw): string {
    return `${this.mark()} ${"so many words ".repeat(draw.one([1, 5, 40, 200]))}`
  }

  prompt(draw: Draw): void {
    const parts = [text(this.id("prt"), this.words(draw))]
    if (draw.chance(20)) parts.push(part("file", this.id("prt"), { mime: "image/png", url: "data:,x" }))
    if (draw.chance(10)) parts.push(text(this.id("prt"), this.mark(), { ignored: true }))
    this.add(user(this.id("msg")), parts)
  }

  /** `isSettled`: all calls are settled, as the store requires it before a message is sealed. */
  step(draw: Draw, { isSettled = false } = {}): void {
    const parts: Part[] = []
    const prune = draw.chance(25) ? this.planPrune() : undefined
    parts.push(part("step-start", this.id("prt"), prune ? { prune: { time: 1, parts: prune } } : {}))
    for (let left = draw.below(4); left > 0; left--) parts.push(this.#stepPart(draw, isSettled))
    parts.push(part("step-finish", this.id("prt"), { reason: "stop", cost: 0, tokens: assistant("").tokens }))
    const message = assistant(this.id("msg"))
    this.add(draw.chance(10) ? { ...message, error: failure, finish: "error" } : message, parts)
  }

  #stepPart(draw: Draw, isSettled: boolean): Part {
    const id = this.id("prt")
    const kind = draw.below(10)
    if (kind < 2) return text(id, this.words(draw))
    if (kind < 4) {
      return part("reasoning", id, {
        text: this.words(draw),
        time: { start: 1 },
        metadata: { signature: id },
      })
    }
    const state = this.#toolState(draw, isSettled)
    return tool(id, state, { tool: draw.one(["read", "bash", "skill"]) })
  }

  #toolState(draw: Draw, isSettled: boolean): ToolState {
    const input = { path: this.mark() }
    const time = { start: 1, end: 2 }
    const kind = draw.below(isSettled ? 8 : 10)
    if (kind === 8) return { status: "pending", input: {}, raw: '{"pa' }
    if (kind === 9) return { status: "running", input, time: { start: 1 } }
    if (kind === 7) return { status: "error", input, error: this.words(draw), time }
    return { status: "completed", input, output: this.words(draw), title: "", metadata: {}, time }
  }

  planPrune(): string[] | undefined {
    const { start, pruned } = contextBase(this.items)
    const limits = { protectTokens: 150, minimumTokens: 50 }
    return planPrune(this.items.slice(start), { isPruned: (id) => pruned.has(id), limits })?.parts
  }

  compaction(draw: Draw): void {
    const { start } = contextBase(this.items)
    const shown = this.items.slice(start)
    const cut = planTail(shown, {
      ...(draw.chance(30) && { keepTurns: draw.below(3) }),
      tailTokens: draw.one([0, 50, 300]),
      stepTokensMax: draw.one([0, 200]),
      tokensAt: (index) => estimateMessageTokens(shown[index]!),
    })
    if (cut === 0) return
    const kept = shown[cut]?.message.id
    const isFailed = draw.chance(15)
    const summary = `Summary ${this.mark()}`
    const done = { summary, ...(kept !== undefined && { firstKeptEntryId: kept }) }
    const message: Message = { ...assistant(this.id("msg")), agent: "compaction", summary: true }
    this.add(message, [part("compaction", this.id("prt"), { auto: true, ...(!isFailed && done) })])
    const goesOn = !isFailed && draw.chance(50)
    if (goesOn) this.add(user(this.id("msg")), [text(this.id("prt"), "Go on.", { synthetic: true })])
  }

  /** Keeps what a fork or a committed revert keeps: everything before a message or before one of its parts. */
  cut(draw: Draw): { messageID: string; partID?: string } | undefined {
    if (this.items.length === 0) return undefined
    const item = this.items[draw.below(this.items.length)]!
    const at = draw.chance(50) ? item.parts[draw.below(Math.max(1, item.parts.length))] : undefined
    return { messageID: item.message.id, ...(at && { partID: at.id }) }
  }

  cutNow(mark: { messageID: string; partID?: string }): void {
    const at = this.items.findIndex(({ message }) => message.id === mark.messageID)
    const tail = cutTail(this.items[at]!, mark.partID, (kind) => this.id(kind === "part" ? "prt" : "msg"))
    this.items = this.items.slice(0, at)
    if (tail) this.add(tail.message as Message, tail.parts as Part[])
  }

  grow(draw: Draw): void {
    const kind = draw.below(19)
    if (kind < 6) this.prompt(draw)
    else if (kind < 14) this.step(draw)
    else if (kind < 17) this.compaction(draw)
    else if (kind === 17) this.add(user(this.id("msg")), [])
    else {
      const mark = this.cut(draw)
      if (mark) this.cutNow(mark)
    }
  }
}

const failure = { name: "UnknownError" as const, data: { message: "It failed." } }

/** The marks that the history hides, computed in another way than the context does it. */
export function hiddenMarks(items: readonly HistoryItem[]): { hidden: string[]; pruned: string[] } {
  const at = items.findLastIndex(({ sealed, parts }) => sealed && parts.some(isDone))
  const kept = (items[at]?.parts.findLast(isDone) as PartOf<"compaction"> | undefined)?.firstKeptEntryId
  const keptAt = items.findIndex(({ message }) => message.id === kept)
  const start = at < 0 ? 0 : keptAt < 0 ? at : keptAt
  const ids = prunedParts(items.slice(start).flatMap(({ parts }) => parts))
  const outputs = items
    .flatMap(({ parts }) => parts)
    .flatMap((each) =>
      each.type === "tool" && ids.has(each.id) && each.state.status === "completed"
        ? [each.state.output]
        : [],
    )
  return { hidden: [...marksOf(items.slice(0, start))], pruned: [...marksOf(outputs)] }
}

function isDone(each: Part): boolean {
  return each.type === "compaction" && each.summary !== undefined
}

export function marksOf(value: unknown): Set<string> {
  return new Set(JSON.stringify(value).match(/MARK\d{5}/g) ?? [])
}
