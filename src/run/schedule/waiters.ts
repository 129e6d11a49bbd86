import { type AssistantMessage, type HistoryItem, StemmaError } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"
import { compactionBefore, isCompaction } from "../context/compaction-message.ts"

interface Waiter {
  resolve: (item: HistoryItem) => void
  reject: (error: unknown) => void
}

type Answer = HistoryItem & { message: AssistantMessage }

/**
 * The message that ends the answer to a prompt, among the messages after it. An interrupted message ends the answer only if
 * no run has continued it; `isOver` says that no run will.
 */
function answerAmong(items: readonly HistoryItem[], { isOver }: { isOver: boolean }): Answer | undefined {
  return items.find((item, index): item is Answer => {
    if (!isAnswer(item)) return false
    if ((item.message as AssistantMessage).finish !== "interrupted") return true
    // A compaction, and the synthetic message after it that continues the turn, are neither answers nor prompts.
    const next = items.find((later, at) => at > index && !isCompaction(later) && !compactionBefore(items, at))
    return next ? next.message.role === "user" : isOver
  })
}

/** The callers that wait for the answer to a prompt, whichever process writes it. */
export class Waiters {
  /** Keyed by session, then by prompt. */
  readonly #waiting = new Map<string, Map<string, Set<Waiter>>>()
  /** Ids of the awaited items that are compactions. */
  readonly #compactions = new Set<string>()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  has(sessionID: string): boolean {
    return this.#waiting.has(sessionID)
  }

  add(sessionID: string, promptID: string): Promise<HistoryItem> {
    const { promise, resolve, reject } = Promise.withResolvers<HistoryItem>()
    const prompts = this.#waiting.get(sessionID) ?? new Map<string, Set<Waiter>>()
    const waiters = prompts.get(promptID) ?? new Set()
    waiters.add({ resolve, reject })
    prompts.set(promptID, waiters)
    this.#waiting.set(sessionID, prompts)
    return promise
  }

  /** Waits for the message of a compaction. */
  async addCompaction(sessionID: string, id: string): Promise<HistoryItem> {
    this.#compactions.add(id)
    try {
      return await this.add(sessionID, id)
    } finally {
      this.#compactions.delete(id)
    }
  }

  /** Resolves the waiters of a turn that a run of this process has ended. `items` are the messages up to the end of the turn. */
  answered(sessionID: string, items: readonly HistoryItem[]): void {
    const prompts = this.#waiting.get(sessionID)
    if (!prompts) return
    for (let index = items.length - 1; index >= 0; index--) {
      const item = items[index]!
      if (isCompaction(item)) {
        this.#end(sessionID, item.message.id, (waiter) => waiter.resolve(item))
        continue
      }
      if (item.message.role !== "user" || !prompts.has(item.message.id)) {
        // The turn before this one: its waiters have been resolved.
        if (index < items.length - 1 && isAnswer(item) && items[index + 1]!.message.role === "user") return
        continue
      }
      const answer = answerAmong(items.slice(index + 1), { isOver: true })
      if (answer) this.#end(sessionID, item.message.id, (waiter) => waiter.resolve(answer))
    }
  }

  /** Reads the store for answers of other processes. `isOver`: no run will continue an interrupted message. */
  async look(sessionID: string, options?: { isOver: boolean }): Promise<void> {
    for (const promptID of [...(this.#waiting.get(sessionID)?.keys() ?? [])]) {
      try {
        // Taking the item and writing the message is one commit, so the inbox must be read before the history.
        const isTaken =
          this.#compactions.has(promptID) &&
          (await this.#store.inbox(sessionID)).every(({ id }) => id !== promptID)
        const answer = await findAnswer(this.#store, sessionID, promptID, options)
        if (answer) this.#end(sessionID, promptID, (waiter) => waiter.resolve(answer))
        else if (isTaken) this.refuse(sessionID, promptID, notCompacted())
      } catch (error) {
        if (StemmaError.is(error, "not_found")) this.refuse(sessionID, promptID, error)
      }
    }
  }

  /** Rejects the waiters of a prompt that can never be answered. */
  refuse(sessionID: string, promptID: string, error: unknown): void {
    this.#end(sessionID, promptID, (waiter) => waiter.reject(error))
  }

  fail(sessionID: string, error: unknown): void {
    for (const promptID of [...(this.#waiting.get(sessionID)?.keys() ?? [])]) {
      this.refuse(sessionID, promptID, error)
    }
  }

  #end(sessionID: string, promptID: string, tell: (waiter: Waiter) => void): void {
    const prompts = this.#waiting.get(sessionID)
    const waiters = prompts?.get(promptID)
    if (!prompts || !waiters) return
    prompts.delete(promptID)
    if (prompts.size === 0) this.#waiting.delete(sessionID)
    for (const waiter of waiters) tell(waiter)
  }
}

/** A compaction inside a turn is not an answer. */
function isAnswer({ sealed, message }: HistoryItem): boolean {
  return sealed && message.role === "assistant" && message.finish !== "tool-calls" && !message.summary
}

/** Another process took the item, so the reason is not known here. */
function notCompacted(): StemmaError {
  return new StemmaError(
    "unavailable",
    "The compaction was aborted, or the session has too little history to compact.",
  )
}

export function nothingToCompact(): StemmaError {
  return new StemmaError("invalid", "There is nothing to compact: the session has too little history.")
}

/** The message that ends the answer to a prompt; undefined if the history has none yet. */
export async function findAnswer(
  store: Store,
  sessionID: string,
  promptID: string,
  { isOver = false }: { isOver?: boolean } = {},
): Promise<Answer | undefined> {
  const prompt = await findMessage(store, sessionID, promptID)
  if (!prompt) return undefined
  if (isCompaction(prompt)) return prompt.sealed ? prompt : undefined
  for (let from = prompt.position + 1; ; ) {
    const page = await store.history(sessionID, { from, take: "start", limit: 100 })
    const answer = answerAmong(page.items, { isOver: isOver && !page.more })
    if (answer) return answer
    if (!page.more || page.items.length === 0) return undefined
    // The last candidate is read again with the messages that follow it, which decide whether it ended the answer.
    const candidate = page.items.findLast(isAnswer)?.position ?? 0
    from = candidate > from ? candidate : page.items.at(-1)!.position
  }
}

/** A message by its id; undefined if the history has no such message. */
export async function findMessage(
  store: Pick<Store, "history">,
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
