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

/** A new store and helper methods for a case. All handles that it opened are closed after the case. */
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

  /** Closes the store and opens the same data again. */
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

  /** Creates a session and claims it. */
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

  /** Forks a session, whole unless `messageID` or `left` is given, and claims the fork. */
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

  /** Returns all rows in scope after the cursor. */
  async rows(scope: Scope, since?: string): Promise<Row[]> {
    const changes = await this.store.changes(scope, since, { limit: 10_000 })
    assert.equal(changes.more, false)
    return changes.rows
  }
}

/** A claimed session. Its commits carry the fence of the lease. */
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

  /** Appends a sealed user message with one text part and returns its id. */
  async say(text: string): Promise<string> {
    return this.append([this.#scene.make.text(text)])
  }

  /** Appends a sealed user message and returns its id. */
  async append(parts: PartBody[]): Promise<string> {
    const message = this.#scene.make.user()
    await this.commit({ op: "message.append", sessionID: this.id, message, parts, sealed: true })
    return message.id
  }

  /** Appends one sealed user message for each text and returns the ids. */
  async sayAll(...texts: string[]): Promise<string[]> {
    const ids: string[] = []
    for (const text of texts) ids.push(await this.say(text))
    return ids
  }

  /** Appends an open assistant message and returns its id. */
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

  /** Adds a piece to the field `text` of a part, or to another growing field. */
  grow(
    messageID: string,
    piece: { partID: string; offset: number; text: string; field?: "text" | "raw" | "output" },
  ): Promise<Committed> {
    return this.commit({ op: "piece.add", sessionID: this.id, messageID, field: "text", ...piece })
  }

  note(messageID: string, key: string, value: unknown): Promise<Committed> {
    return this.commit({ op: "note.put", sessionID: this.id, messageID, key, value })
  }

  /** Moves the history back to just before a message and returns the new segment. */
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

  /** Returns the first text of each message, in order. */
  async texts(left?: string): Promise<string[]> {
    return (await this.items(left)).map(textOf)
  }

  info() {
    return this.#scene.store.session(this.id)
  }
}

/** Returns the first text part of a message, or an empty string. */
export function textOf(item: HistoryItem): string {
  const part = item.parts.find((candidate) => candidate.type === "text")
  return part?.type === "text" ? part.text : ""
}

/** Asserts that the promise fails with this code and a readable sentence, and returns the error. */
export async function failsWith(code: ErrorCode, promise: Promise<unknown>): Promise<StemmaError> {
  let error: unknown
  try {
    await promise
  } catch (thrown) {
    error = thrown
  }
  assert.ok(error !== undefined, `expected ${code}, but the call succeeded`)
  assert.ok(
    StemmaError.is(error),
    `expected ${code}, but the call failed with another kind of error: ${String(error)}`,
  )
  assert.equal(error.code, code, error.message)
  assert.match(error.message, /\s.*[.:]/, "the message of an error must be a sentence")
  return error
}

/** Creates a case that runs on a new store. */
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
