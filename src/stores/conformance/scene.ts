import assert from "node:assert/strict"
import {
  type ErrorCode,
  type HistoryItem,
  type NewSession,
  type PartBody,
  type Row,
  StemmaError,
} from "../../protocol/index.ts"
import type { Op } from "../commit.ts"
import type { Committed, Lease, Scope, Store } from "../store.ts"
import type { ConformanceCase, ConformanceDriver, ConformanceNeed, ConformanceOpenOptions } from "./driver.ts"
import { fits } from "./driver.ts"
import { ManualClock, Samples } from "./samples.ts"

/** A fresh store and what a case needs to talk to it. Handles that it opened are closed after the case. */
export class Scene {
  readonly driver: ConformanceDriver
  readonly clock = new ManualClock()
  readonly make: Samples
  #store: Store | undefined
  readonly #others: Store[] = []

  constructor(driver: ConformanceDriver, seed: number) {
    this.driver = driver
    this.make = new Samples(seed, this.clock)
  }

  get store(): Store {
    assert.ok(this.#store)
    return this.#store
  }

  async open(options: ConformanceOpenOptions = {}): Promise<Store> {
    if (this.#store) this.#others.push(this.#store)
    this.#store = await this.driver.open({ clock: this.clock, ...options })
    return this.#store
  }

  /** Closes the store and opens its place again. */
  async reopen(): Promise<Store> {
    assert.ok(this.driver.reopen)
    this.#store = await this.driver.reopen(this.store, { clock: this.clock })
    return this.#store
  }

  async second(options: ConformanceOpenOptions = {}): Promise<Store> {
    assert.ok(this.driver.second)
    const store = await this.driver.second(this.store, { clock: this.clock, ...options })
    this.#others.push(store)
    return store
  }

  async close(): Promise<void> {
    for (const store of this.#others) await store.close()
    await this.#store?.close()
  }

  /** A new session whose lease this process holds. */
  async session(fields: Partial<NewSession> = {}): Promise<Run> {
    const session = this.make.session(fields)
    await this.store.commit({
      ops: [{ op: "session.create", session, segment: this.make.id("segment") }],
    })
    return this.run(session.id)
  }

  /** Claims a session. */
  async run(sessionID: string): Promise<Run> {
    return new Run(this, await this.store.claim(sessionID))
  }

  /** A new session that shares the other's history, whole unless it is told where to end, and claimed. */
  async fork(
    sourceID: string,
    options: { messageID?: string; left?: string; fields?: Partial<NewSession> } = {},
  ): Promise<Run> {
    const { fields, ...where } = options
    const { projectID: _projectID, directory: _directory, ...session } = this.make.session()
    await this.store.commit({
      ops: [
        {
          op: "session.fork",
          sourceID,
          ...where,
          session: { ...session, ...fields },
          segment: this.make.id("segment"),
        },
      ],
    })
    return this.run(fields?.id ?? session.id)
  }

  /** All rows in scope after the cursor. */
  async rows(scope: Scope, since?: string): Promise<Row[]> {
    const changes = await this.store.changes(scope, since, { limit: 10_000 })
    assert.equal(changes.more, false)
    return changes.rows
  }
}

/** A session that this process runs: what it commits carries the fence. */
export class Run {
  readonly id: string
  readonly lease: Lease
  readonly #scene: Scene

  constructor(scene: Scene, lease: Lease) {
    this.#scene = scene
    this.lease = lease
    this.id = lease.sessionID
  }

  commit(...ops: Op[]): Promise<Committed> {
    return this.#scene.store.commit({ ops, fences: { [this.id]: this.lease.fence } })
  }

  /** Appends a sealed user message of one text part and gives its id. */
  async say(text: string): Promise<string> {
    return this.append([this.#scene.make.text(text)])
  }

  /** Appends a sealed user message and gives its id. */
  async append(parts: PartBody[]): Promise<string> {
    const message = this.#scene.make.user()
    await this.commit({ op: "message.append", sessionID: this.id, message, parts, sealed: true })
    return message.id
  }

  /** Says several things, one message each, and gives the ids. */
  async sayAll(...texts: string[]): Promise<string[]> {
    const ids: string[] = []
    for (const text of texts) ids.push(await this.say(text))
    return ids
  }

  /** Begins an assistant message and gives its id. */
  async begin(...parts: PartBody[]): Promise<string> {
    const message = this.#scene.make.assistant()
    await this.commit({ op: "message.append", sessionID: this.id, message, parts })
    return message.id
  }

  async seal(messageID: string): Promise<Committed> {
    return this.commit({ op: "message.seal", sessionID: this.id, messageID })
  }

  put(messageID: string, part: PartBody, options: { grown?: "keep" } = {}): Promise<Committed> {
    return this.commit({ op: "part.put", sessionID: this.id, messageID, part, ...options })
  }

  /** Adds a piece to the `text` of a part, or to another growing field. */
  grow(
    messageID: string,
    piece: { partID: string; offset: number; text: string; field?: "text" | "raw" | "output" },
  ): Promise<Committed> {
    return this.commit({ op: "piece.add", sessionID: this.id, messageID, field: "text", ...piece })
  }

  note(messageID: string, key: string, value: unknown): Promise<Committed> {
    return this.commit({ op: "note.put", sessionID: this.id, messageID, key, value })
  }

  /** Moves the history back to just before a message and gives the new segment. */
  async moveBefore(messageID: string): Promise<string> {
    const segment = this.#scene.make.id("segment")
    await this.commit({ op: "history.move", sessionID: this.id, segment, messageID })
    return segment
  }

  mark(messageID: string): Promise<Committed> {
    return this.commit({ op: "session.patch", sessionID: this.id, set: { revert: { messageID } } })
  }

  async items(left?: string): Promise<HistoryItem[]> {
    const page = await this.#scene.store.history(this.id, { left, limit: 1000 })
    assert.equal(page.more, false)
    return page.items
  }

  /** The first text of each message, in order. */
  async texts(left?: string): Promise<string[]> {
    return (await this.items(left)).map(textOf)
  }

  info() {
    return this.#scene.store.session(this.id)
  }
}

/** The first text part of a message, or nothing. */
export function textOf(item: HistoryItem): string {
  const part = item.parts.find((candidate) => candidate.type === "text")
  return part?.type === "text" ? part.text : ""
}

/** Waits for a failure with this code and a sentence, and gives it back. */
export async function failsWith(code: ErrorCode, promise: Promise<unknown>): Promise<StemmaError> {
  let error: unknown
  try {
    await promise
  } catch (thrown) {
    error = thrown
  }
  assert.ok(error !== undefined, `expected ${code}, but the call succeeded`)
  assert.ok(StemmaError.is(error), `expected ${code}, but another kind of error came: ${String(error)}`)
  assert.equal(error.code, code, error.message)
  assert.match(error.message, /\s.*[.:]/, "an error says in a sentence what is wrong")
  return error
}

/** A case that runs on a fresh store. */
export function promised(
  name: string,
  body: (scene: Scene) => Promise<void>,
  options: { needs?: readonly ConformanceNeed[] } = {},
): ConformanceCase {
  const made: ConformanceCase = {
    name,
    needs: options.needs ?? [],
    async run(driver) {
      if (!fits(made, driver)) return
      const scene = new Scene(driver, seedOf(name))
      try {
        await scene.open()
        await body(scene)
      } finally {
        await scene.close()
      }
    },
  }
  return made
}

function seedOf(name: string): number {
  let seed = 0
  for (const character of name) seed = (Math.imul(seed, 31) + character.codePointAt(0)!) >>> 0
  return seed
}
