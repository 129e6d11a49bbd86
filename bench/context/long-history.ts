import type { HistoryItem, LedgerFacts, MessageBody, NewSession, PartBody } from "../../src/protocol/index.ts"
import { extendLedger, ledgerText } from "../../src/session/index.ts"
import type { Op } from "../../src/stores/commit.ts"
import type { Store } from "../../src/stores/store.ts"
import { assistantMessage, type Ids, newSession, textPart, userMessage } from "../store/content.ts"
import type { Texts } from "./texts.ts"

const opsPerCommit = 500
const ledgerTokens = 4_000
/** The share of the kept messages that come before the last compaction. */
const keptBefore = 0.5
const nothing = "Nothing."

export interface LongHistory {
  /** Messages that a compaction hides. */
  hidden: number
  /** Messages that the model is shown. */
  kept: number
  /**
   * The compactions, spread over the hidden messages; the last one hides them. 1 by default, and none if nothing is
   * hidden.
   */
  compactions?: number
  session?: Partial<NewSession>
}

/** Imports a session in which all but the last messages are hidden. Each compaction has a ledger of the usual size. */
export async function importHistory(
  store: Store,
  { ids, texts }: { ids: Ids; texts: Texts },
  { hidden, kept, compactions = 1, session = {} }: LongHistory,
): Promise<string> {
  const made = newSession(ids, session)
  const sessionID = made.id
  const batch = new Batch(store)
  await batch.add({ op: "session.create", session: made, segment: ids.next("segment"), importing: true })
  const messages = makeMessages(ids, texts)
  const append = async (count: number) => {
    const written: Written[] = []
    for (let i = 0; i < count; i++) {
      const next = messages.next().value
      await batch.add({ op: "message.append", sessionID, ...next, sealed: true })
      written.push(next)
    }
    return written
  }
  let facts: LedgerFacts | undefined
  const compact = async (seen: readonly Written[], firstKept: Written) => {
    facts = extendLedger(facts, seen.map(asItem), { budgetTokens: ledgerTokens })
    const compaction = compactionMessage(ids, { facts, firstKept })
    await batch.add({ op: "message.append", sessionID, ...compaction, sealed: true })
  }
  const times = hidden === 0 ? 0 : compactions
  let seen: Written[] = []
  for (let time = 1; time <= times; time++) {
    seen.push(...(await append(Math.floor(hidden / times))))
    const before = await append(time === times ? Math.ceil(kept * keptBefore) : 2)
    await compact(seen.slice(-2000), before[0]!)
    seen = before
  }
  await append(times === 0 ? kept : kept - seen.length)
  await batch.add({ op: "session.publish", sessionID })
  await batch.flush()
  return sessionID
}

/** Continues an existing session, as if it had been used all the time. */
export async function appendMessages(
  store: Store,
  { ids, texts }: { ids: Ids; texts: Texts },
  { sessionID, count }: { sessionID: string; count: number },
): Promise<void> {
  const lease = await store.claim(sessionID)
  const batch = new Batch(store, { [sessionID]: lease.fence })
  const messages = makeMessages(ids, texts)
  for (let i = 0; i < count; i++) {
    await batch.add({ op: "message.append", sessionID, ...messages.next().value, sealed: true })
  }
  await batch.flush()
  await store.release(lease)
}

export interface Written {
  message: MessageBody
  parts: PartBody[]
}

/** Prompts and answers alternately, every other answer with a call. */
function* makeMessages(ids: Ids, texts: Texts): Generator<Written, never> {
  for (let turn = 0; ; turn++) {
    const message = userMessage(ids)
    yield { message, parts: [textPart(ids, texts.prompt(turn))] }
    const { created } = message.time
    const answer = {
      ...assistantMessage(ids, message.id),
      finish: "stop",
      time: { created, completed: created },
    }
    const parts = [textPart(ids, texts.answer(turn))]
    if (turn % 2 === 0) parts.unshift(readCall(ids, texts, turn))
    yield { message: answer, parts }
  }
}

function readCall(ids: Ids, texts: Texts, turn: number): PartBody {
  const filePath = texts.path(turn)
  const time = { start: 1, end: 2 }
  return {
    id: ids.next("part"),
    type: "tool",
    callID: `call_${turn}`,
    tool: "read",
    state: {
      status: "completed",
      input: { filePath },
      output: texts.code(turn),
      title: filePath,
      metadata: {},
      time,
    },
  }
}

function compactionMessage(
  ids: Ids,
  { facts, firstKept }: { facts: LedgerFacts; firstKept: Written },
): Written {
  const part: PartBody = {
    id: ids.next("part"),
    type: "compaction",
    auto: true,
    summary: nothing,
    ledger: ledgerText(facts),
    facts,
    firstKeptEntryId: firstKept.message.id,
    tokensHidden: 1_000_000,
  }
  const message = { ...assistantMessage(ids, firstKept.message.id), summary: true, finish: "stop" }
  return { message: { ...message, agent: "compaction" }, parts: [part] }
}

export function asItem({ message, parts }: Written, position = 0): HistoryItem {
  const sessionID = "ses_bench"
  return {
    position,
    version: 1,
    sealed: true,
    message: { ...message, sessionID },
    parts: parts.map((part) => ({ ...part, sessionID, messageID: message.id })),
  }
}

/** Messages as a store returns them, without a store. */
export function makeItems(ids: Ids, texts: Texts, count: number): HistoryItem[] {
  const messages = makeMessages(ids, texts)
  return Array.from({ length: count }, (_, position) => asItem(messages.next().value, position))
}

class Batch {
  #ops: Op[] = []
  readonly #store: Store
  readonly #fences: Record<string, number> | undefined

  constructor(store: Store, fences?: Record<string, number>) {
    this.#store = store
    this.#fences = fences
  }

  async add(op: Op): Promise<void> {
    this.#ops.push(op)
    if (this.#ops.length >= opsPerCommit) await this.flush()
  }

  async flush(): Promise<void> {
    const ops = this.#ops
    this.#ops = []
    if (ops.length > 0) await this.#store.commit({ ops, ...(this.#fences && { fences: this.#fences }) })
  }
}
