import { type AssistantMessage, type HistoryItem, StemmaError } from "../protocol/index.ts"
import type { Store } from "../stores/store.ts"

interface Waiter {
  promptID: string
  resolve: (item: HistoryItem) => void
  reject: (error: unknown) => void
}

type Answer = HistoryItem & { message: AssistantMessage }

/**
 * The message that ends the answer to a prompt, among those after it. One that was cut off ends it only if nobody has
 * gone on from there; `isOver` says that nobody will.
 */
function answerAmong(items: readonly HistoryItem[], { isOver }: { isOver: boolean }): Answer | undefined {
  return items.find((item, index): item is Answer => {
    if (!item.sealed || item.message.role !== "assistant" || item.message.finish === "tool-calls")
      return false
    if (item.message.finish !== "interrupted") return true
    const next = items[index + 1]
    return next ? next.message.role === "user" : isOver
  })
}

/** Those who wait for the answer to a prompt, whichever process gives it. */
export class Waiters {
  readonly #waiting = new Map<string, Set<Waiter>>()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  has(sessionID: string): boolean {
    return this.#waiting.has(sessionID)
  }

  get sessions(): string[] {
    return [...this.#waiting.keys()]
  }

  add(sessionID: string, promptID: string): Promise<HistoryItem> {
    const { promise, resolve, reject } = Promise.withResolvers<HistoryItem>()
    const set = this.#waiting.get(sessionID) ?? new Set()
    set.add({ promptID, resolve, reject })
    this.#waiting.set(sessionID, set)
    return promise
  }

  /** A run of this process has sealed an answer; `items` are those before it, and itself. */
  answered(sessionID: string, items: readonly HistoryItem[]): void {
    for (const waiter of this.#waiting.get(sessionID) ?? []) {
      const answer = answerTo(items, waiter.promptID)
      if (answer) this.#end(sessionID, waiter, () => waiter.resolve(answer))
    }
  }

  /** Looks into the store, for answers that other processes gave. `isOver`: nobody goes on with what was cut off. */
  async look(sessionID: string, options?: { isOver: boolean }): Promise<void> {
    for (const waiter of [...(this.#waiting.get(sessionID) ?? [])]) {
      try {
        const answer = await findAnswer(this.#store, sessionID, waiter.promptID, options)
        if (answer) this.#end(sessionID, waiter, () => waiter.resolve(answer))
      } catch (error) {
        if (StemmaError.is(error, "not_found")) this.#end(sessionID, waiter, () => waiter.reject(error))
      }
    }
  }

  /** A prompt that can never be taken. */
  refuse(sessionID: string, promptID: string, error: unknown): void {
    for (const waiter of [...(this.#waiting.get(sessionID) ?? [])]) {
      if (waiter.promptID === promptID) this.#end(sessionID, waiter, () => waiter.reject(error))
    }
  }

  fail(sessionID: string, error: unknown): void {
    for (const waiter of [...(this.#waiting.get(sessionID) ?? [])]) {
      this.#end(sessionID, waiter, () => waiter.reject(error))
    }
  }

  #end(sessionID: string, waiter: Waiter, tell: () => void): void {
    const set = this.#waiting.get(sessionID)
    if (!set?.delete(waiter)) return
    if (set.size === 0) this.#waiting.delete(sessionID)
    tell()
  }
}

function answerTo(items: readonly HistoryItem[], promptID: string): HistoryItem | undefined {
  const at = items.findLastIndex((item) => item.message.id === promptID)
  return at < 0 ? undefined : answerAmong(items.slice(at + 1), { isOver: true })
}

/** The answer to a prompt in the history; undefined if there is none yet. */
export async function findAnswer(
  store: Store,
  sessionID: string,
  promptID: string,
  { isOver = false }: { isOver?: boolean } = {},
): Promise<Answer | undefined> {
  const prompt = await findMessage(store, sessionID, promptID)
  if (!prompt) return undefined
  for (let from = prompt.position + 1; ; ) {
    const page = await store.history(sessionID, { from, take: "start", limit: 100 })
    const answer = answerAmong(page.items, { isOver: isOver && !page.more })
    if (answer) return answer
    if (!page.more || page.items.length === 0) return undefined
    // The last one again: what follows it says whether it ended anything.
    from = page.items.at(-1)!.position
  }
}

/** A message by its id; undefined if the history has none such. */
export async function findMessage(
  store: Store,
  sessionID: string,
  messageID: string,
): Promise<HistoryItem | undefined> {
  try {
    return (await store.history(sessionID, { messageID })).items[0]
  } catch (error) {
    if (StemmaError.is(error, "not_found") && error.details?.messageID !== undefined) return undefined
    throw error
  }
}
