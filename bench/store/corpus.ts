import type { NewSession, PartBody } from "../../src/protocol/index.ts"
import type { Op } from "../../src/stores/commit.ts"
import type { Store } from "../../src/stores/store.ts"
import {
  assistantMessage,
  finished,
  type Ids,
  makeIds,
  newSession,
  textPart,
  userMessage,
} from "./content.ts"
import { exclusive, type Plant, plants } from "./search-kinds.ts"
import { Vocabulary } from "./vocabulary.ts"

const partsPerSession = 500
const messagesPerCommit = 50
const projects = 50

export interface CorpusFacts {
  parts: number
  textBytes: number
  /** An old session, and a project whose sessions are spread over the whole time. */
  sessionID: string
  projectID: string
}

type Kind = NonNullable<Plant["only"]>

/** Texts of developers and agents: English, Chinese, code and tool output, with the planted words. */
export class Corpus {
  readonly #parts: number
  readonly #vocabulary: Vocabulary
  readonly #ids: Ids
  #made = 0
  textBytes = 0

  constructor(parts: number, seed = 20) {
    this.#parts = parts
    this.#vocabulary = new Vocabulary(seed)
    this.#ids = makeIds(seed)
  }

  get made(): number {
    return this.#made
  }

  title(): string {
    return this.#vocabulary.sentence(6)
  }

  /** The parts of a prompt or of an answer. */
  messageParts(role: "user" | "assistant"): PartBody[] {
    const vocabulary = this.#vocabulary
    if (role === "user") return [textPart(this.#ids, this.#prose(8 + vocabulary.below(32)))]
    const parts: PartBody[] = []
    if (vocabulary.below(10) < 4) {
      const text = this.#prose(15 + vocabulary.below(35))
      parts.push({ id: this.#ids.next("part"), type: "reasoning", text, time: { start: 1, end: 2 } })
    }
    for (let calls = vocabulary.below(4); calls > 0; calls--) parts.push(this.#toolCall())
    parts.push(textPart(this.#ids, this.#prose(20 + vocabulary.below(60))))
    return parts
  }

  #prose(words: number): string {
    const vocabulary = this.#vocabulary
    if (vocabulary.below(4) === 0) return this.#plant(vocabulary.chinese(words), "chinese")
    const code = vocabulary.below(6) === 0 ? `\n${vocabulary.code(3)}` : ""
    return this.#plant(vocabulary.prose(words) + code, "english")
  }

  #toolCall(): PartBody {
    const vocabulary = this.#vocabulary
    const id = this.#ids.next("part")
    const tool = vocabulary.one(["read", "bash", "edit", "grep"])
    const output = this.#plant(vocabulary.code(2 + vocabulary.below(8)), "tool")
    const input = { path: vocabulary.path() }
    const time = { start: 1, end: 2 }
    return {
      id,
      type: "tool",
      callID: `call_${id.slice(4)}`,
      tool,
      state: { status: "completed", input, output, title: input.path, metadata: {}, time },
    }
  }

  /** The text with the planted words of this part inserted. */
  #plant(text: string, kind: Kind): string {
    const { random } = this.#vocabulary
    const number = this.#made++
    let planted = text
    for (const [index, plant] of plants.entries()) {
      if (plant.only !== undefined && plant.only !== kind) continue
      const chosen =
        typeof plant.share === "number"
          ? random() < plant.share
          : number % Math.max(1, Math.floor(this.#parts / plant.share.parts)) === index
      if (chosen) planted = this.#insert(planted, plant.text)
    }
    if (random() < exclusive.share * 2) planted = this.#insert(planted, this.#vocabulary.one(exclusive.words))
    this.textBytes += Buffer.byteLength(planted)
    return planted
  }

  #insert(text: string, word: string): string {
    const at = text.indexOf(" ", this.#vocabulary.below(text.length))
    return at < 0 ? `${text} ${word}` : `${text.slice(0, at)} ${word}${text.slice(at)}`
  }
}

/** Imports a corpus with this many parts, session by session; every twentieth session is forked. */
export async function importCorpus(
  store: Store,
  parts: number,
  onProgress: (made: number) => void,
): Promise<CorpusFacts> {
  const corpus = new Corpus(parts)
  const ids = makeIds(21)
  const sessions = Math.ceil(parts / partsPerSession)
  let old = ""
  for (let number = 0; number < sessions; number++) {
    const end = Math.min(parts, (number + 1) * partsPerSession)
    const projectID = `project-${number % projects}`
    const session = newSession(ids, { projectID, directory: `/work/${projectID}`, title: corpus.title() })
    await importTalk(store, { corpus, ids, session, end })
    if (number === Math.floor(sessions / 10)) old = session.id
    if (number % 20 === 0) {
      const fork = newSession(ids, { projectID, directory: `/work/${projectID}`, title: corpus.title() })
      await store.commit({
        ops: [{ op: "session.fork", sourceID: session.id, session: fork, segment: ids.next("segment") }],
      })
    }
    onProgress(corpus.made)
  }
  return { parts: corpus.made, textBytes: corpus.textBytes, sessionID: old, projectID: "project-7" }
}

interface Talk {
  corpus: Corpus
  ids: Ids
  session: NewSession
  /** The total number of parts after which the session ends. */
  end: number
}

async function importTalk(store: Store, { corpus, ids, session, end }: Talk): Promise<void> {
  const sessionID = session.id
  let ops: Op[] = [{ op: "session.create", session, segment: ids.next("segment"), importing: true }]
  let lastID: string | undefined
  while (corpus.made < end) {
    const message = lastID === undefined ? userMessage(ids) : finished(assistantMessage(ids, lastID))
    const parts = corpus.messageParts(message.role)
    ops.push({ op: "message.append", sessionID, message, parts, sealed: true })
    lastID = message.role === "user" ? message.id : undefined
    if (ops.length < messagesPerCommit) continue
    await store.commit({ ops })
    ops = []
  }
  ops.push({ op: "session.publish", sessionID })
  await store.commit({ ops })
}
