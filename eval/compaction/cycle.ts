import { mkdir } from "node:fs/promises"
import { scratchDirectory } from "../../bench/bench.ts"
import { createScriptedModel, openStemma, type PartBody, type Session, type Stemma } from "../../src/index.ts"
import { createID, type MessageBody, noTokens } from "../../src/protocol/index.ts"
import { estimateMessageTokens } from "../../src/session/index.ts"
import type { Op } from "../../src/stores/commit.ts"
import { Draw } from "./draw.ts"
import type { GeneratedMessage } from "./session.ts"

export interface Compacted {
  /** The text of the ledger, without the summary. */
  text: string
  /** How many of the messages so far are hidden by the compaction. */
  hidden: number
  historyTokens: number
  budgetTokens: number
}

/** One session that is compacted after each cycle. No other file of this evaluation compacts. */
export interface Compactor extends AsyncDisposable {
  /** Adds the messages of a cycle, then compacts. */
  cycle(messages: readonly GeneratedMessage[]): Promise<Compacted>
}

/** A session in SQLite with a model whose summaries keep nothing, so that only the ledger keeps facts. */
export async function openCompactor(): Promise<Compactor> {
  const scratch = await scratchDirectory()
  const directory = scratch.path("shop")
  await mkdir(directory)
  const ref = { providerID: "scripted", modelID: "m" }
  const model = createScriptedModel([], { ref })
  const stemma = await openStemma({
    directory,
    data: scratch.path("data"),
    env: {},
    models: { scripted: () => model },
    config: { model: "scripted/m", title: false },
    snapshots: false,
  })
  const session = await stemma.sessions.create()
  const write = messageWriter(directory)
  let historyTokens = 0
  let generated = 0
  /** The positions of the compactions in the history. */
  const compactions: number[] = []
  return {
    async cycle(messages) {
      const written = messages.map(write)
      generated += written.length
      historyTokens += written.reduce((sum, one) => sum + estimateMessageTokens(one), 0)
      await appendAll(stemma, await session.info(), written)
      for (let piece = 0; piece < 20; piece++) model.add({ for: "compaction", text: "Work went on." })
      const { ledger, messageID } = await session.compact()
      const items = await session.messages({ last: 500 })
      const part = items
        .find(({ message }) => message.id === messageID)
        ?.parts.find(({ type }) => type === "compaction")
      const keptID = part?.type === "compaction" ? part.firstKeptEntryId : undefined
      const kept = items.find(({ message }) => message.id === keptID)?.position
      const before = kept ?? generated + compactions.length
      const hidden = before - compactions.filter((position) => position < before).length
      compactions.push((await session.info()).history.count - 1)
      return { text: ledger, hidden, historyTokens, budgetTokens: budgetOf(historyTokens) }
    },
    async [Symbol.asyncDispose]() {
      await stemma.close()
      await scratch[Symbol.asyncDispose]()
    },
  }
}

/** The most tokens that a ledger may have. */
export function budgetOf(historyTokens: number): number {
  return Math.max(2_000, Math.floor(historyTokens * 0.02))
}

interface Written {
  message: MessageBody
  parts: PartBody[]
}

const messagesPerCommit = 50

async function appendAll(
  stemma: Stemma,
  { id: sessionID }: Session,
  written: readonly Written[],
): Promise<void> {
  const lease = await stemma.store.claim(sessionID)
  try {
    for (let at = 0; at < written.length; at += messagesPerCommit) {
      const ops = written
        .slice(at, at + messagesPerCommit)
        .map((one): Op => ({ op: "message.append", sessionID, ...one, sealed: true }))
      await stemma.store.commit({ ops, fences: { [sessionID]: lease.fence } })
    }
  } finally {
    await stemma.store.release(lease)
  }
}

const startMs = 1_750_000_000_000

/** Adds ids and times to messages. */
export function messageWriter(directory: string): (message: GeneratedMessage) => Written {
  const { random } = new Draw(1)
  let count = 0
  let parentID = createID("message", startMs, random)
  return ({ role, parts }) => {
    const now = startMs + count++ * 1_000
    const id = createID("message", now, random)
    if (role === "user") parentID = id
    return {
      message: messageOf({ role, id, parentID, now, directory }),
      parts: parts.map((part) => ({ ...part, id: createID("part", now, random) }) as PartBody),
    }
  }
}

interface MessageFields {
  role: GeneratedMessage["role"]
  id: string
  parentID: string
  now: number
  directory: string
}

function messageOf({ role, id, parentID, now, directory }: MessageFields): MessageBody {
  const model = { providerID: "scripted", modelID: "m" }
  if (role === "user") return { id, role, time: { created: now }, agent: "build", model }
  return {
    id,
    role,
    time: { created: now, completed: now },
    parentID,
    ...model,
    agent: "build",
    path: { cwd: directory, root: directory },
    cost: 0,
    tokens: noTokens(),
    finish: "stop",
  }
}
