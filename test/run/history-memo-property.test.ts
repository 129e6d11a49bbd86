import fc from "fast-check"
import { expect, test } from "vitest"
import type { HistoryItem, Message, Part } from "../../src/protocol/index.ts"
import { HistoryMemo } from "../../src/run/context/history-memo.ts"
import { context, cutTail, estimateContextTokens } from "../../src/session/index.ts"
import { createMemoryStore } from "../../src/stores/memory.ts"
import type { Store } from "../../src/stores/store.ts"
import { type Draw, drawFrom } from "../support/draw.ts"
import { HistoryStory } from "../support/history-story.ts"
import { bodyOfMessage, bodyOfPart } from "../support/samples.ts"
import { isSoak, repeats, testSeed } from "../support/seed.ts"
import { timedRuns } from "../support/timed-runs.ts"

const seed = testSeed("history memo")
const numbers = fc.noShrink(fc.array(fc.nat(9_999), { minLength: 24, maxLength: 24 }))
const numRuns = repeats({ test: 300, soak: 3000 })
const limitMs = isSoak ? Number.POSITIVE_INFINITY : 4_000
const sessionID = "ses_one"

/** A history in a store, and a memo of it that is given some changes and reads the others from the store. */
class MemoPlay {
  readonly store: Store
  readonly story = new HistoryStory()
  readonly #fence: number
  memo = new HistoryMemo()
  #segments = 0

  private constructor(store: Store, fence: number) {
    this.store = store
    this.#fence = fence
  }

  static async begin(): Promise<MemoPlay> {
    const store = createMemoryStore()
    const time = { created: 1, updated: 1 }
    const session = { id: sessionID, projectID: "p", directory: "/p", title: "t", version: "1", time }
    await store.commit({ ops: [{ op: "session.create", session, segment: "seg_one" }] })
    return new MemoPlay(store, (await store.claim(sessionID)).fence)
  }

  async commit(...ops: Parameters<Store["commit"]>[0]["ops"]): Promise<void> {
    await this.store.commit({ ops, fences: { [sessionID]: this.#fence } })
  }

  async refresh(): Promise<void> {
    await this.memo.refresh(this.store, await this.store.session(sessionID))
  }

  async items(): Promise<HistoryItem[]> {
    return (await this.store.history(sessionID, { take: "start", limit: 1000 })).items
  }

  /** Appends the messages that `grow` adds to the story, and gives them to the memo or lets it read them. */
  async append(grow: () => void, { isGiven }: { isGiven: boolean }): Promise<void> {
    const from = this.story.items.length
    grow()
    const added = this.story.items.slice(from)
    const gives = isGiven && added.every((item) => this.#knowsKept(item))
    for (const { message, parts } of added) {
      await this.commit({
        op: "message.append",
        sessionID,
        message: bodyOfMessage(message),
        parts: parts.map(bodyOfPart),
        sealed: true,
      })
      if (gives) this.memo.add((await this.items()).at(-1)!)
    }
    if (!gives) await this.refresh()
  }

  /**
   * A run that compacts has the kept messages in memory; it reads the compactions of other processes from the store.
   */
  #knowsKept({ parts }: HistoryItem): boolean {
    const kept = parts.find((part) => part.type === "compaction")?.firstKeptEntryId
    return kept === undefined || this.memo.items.some(({ message }) => message.id === kept)
  }

  /** A step as a run makes it: open, check, seal. */
  async step(draw: Draw): Promise<void> {
    this.story.step(draw, { isSettled: true })
    const { message, parts } = this.story.items.at(-1)!
    const [start, ...rest] = parts.map(bodyOfPart)
    const body = bodyOfMessage(message)
    await this.commit({ op: "message.append", sessionID, message: body, parts: [start!] })
    if (draw.chance(70)) this.memo.add((await this.items()).at(-1)!)
    else await this.refresh()
    await this.check(draw)
    await this.commit(
      ...rest.map((part) => ({ op: "part.put" as const, sessionID, messageID: body.id, part })),
      { op: "message.seal", sessionID, messageID: body.id },
    )
    if (draw.chance(70)) this.memo.replaceLast((await this.items()).at(-1)!)
    else await this.refresh()
  }

  async move(draw: Draw): Promise<void> {
    const mark = this.story.cut(draw)
    if (!mark) return
    const item = this.story.items.find(({ message }) => message.id === mark.messageID)!
    const tail = cutTail(item, mark.partID, (kind) => this.story.id(kind === "part" ? "prt" : "msg"))
    const segment = `seg_${++this.#segments}`
    const { messageID } = mark
    await this.commit({ op: "history.move", sessionID, segment, messageID, ...(tail && { tail }) })
    this.story.items = this.story.items.slice(0, this.story.items.indexOf(item))
    if (tail) this.story.add(tail.message as Message, tail.parts as Part[])
    await this.refresh()
  }

  async act(draw: Draw): Promise<void> {
    const isGiven = draw.chance(60)
    const kind = draw.below(16)
    if (kind < 5) await this.append(() => this.story.prompt(draw), { isGiven })
    else if (kind < 10) await this.step(draw)
    else if (kind < 12) await this.append(() => this.story.compaction(draw), { isGiven })
    else if (kind === 12) await this.move(draw)
    else if (kind === 13) {
      const maxHistory = draw.one([null, 1, 2, 3, 5, 8])
      await this.commit({ op: "session.patch", sessionID, set: { maxHistory } })
      await this.refresh()
    } else {
      if (kind === 14) this.memo = new HistoryMemo()
      await this.refresh()
    }
    await this.check(draw)
  }

  /** The memo shows the same as a context that is built from the whole history. */
  async check(draw: Draw): Promise<void> {
    const { maxHistory } = await this.store.session(sessionID)
    const keepsFirst = draw.chance(50)
    if (keepsFirst) await this.memo.readFirst(this.store, sessionID)
    const bound = maxHistory === undefined ? {} : { maxHistory }
    const items = await this.items()
    const first = items.slice(0, 10).find(({ sealed, message }) => sealed && message.role === "user")
    const { messages, tokens } = this.memo.shown({ ...bound, keepsFirst })
    const built = context(sealedOf(items), { ...bound, ...(keepsFirst && first && { first }) })
    expect(messages).toEqual(built)
    expect(tokens).toBe(built.reduce((sum, message) => sum + estimateContextTokens(message), 0))
  }
}

/** An open message is not in its own context, but its step-start part may prune earlier output there. */
function sealedOf(items: readonly HistoryItem[]): HistoryItem[] {
  const open = items.at(-1)
  if (!open || open.sealed) return [...items]
  const sealed = items.slice(0, -1)
  const at = sealed.findLastIndex(({ message }) => message.role === "assistant")
  const marks = open.parts.filter(({ type }) => type === "step-start")
  return sealed.map((item, index) => (index === at ? { ...item, parts: [...item.parts, ...marks] } : item))
}

test("the memo shows the same as a new context, whichever changes it was given and whichever it read", async () => {
  const { run } = timedRuns(limitMs, async (steps: number[][]) => {
    const play = await MemoPlay.begin()
    for (const step of steps) await play.act(drawFrom(step))
    await play.store.close()
  })
  const actions = fc.array(numbers, { maxLength: 30, size: "max" })
  await fc.assert(fc.asyncProperty(actions, run), { ...seed, numRuns })
})
