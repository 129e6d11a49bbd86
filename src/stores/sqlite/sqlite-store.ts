import type { Clock, InboxItem, PermissionRequest, Session, Todo } from "../../protocol/index.ts"
import type { Commit } from "../commit.ts"
import { encodeCursor } from "../cursor.ts"
import { prepareCommit, prepareItem } from "../prepare.ts"
import { readOnly, storeClosed } from "../refusals.ts"
import type {
  Admitted,
  BlobStore,
  Changes,
  Collected,
  CollectOptions,
  Committed,
  HistoryPage,
  HistoryQuery,
  Holder,
  Lease,
  Page,
  PermissionQuery,
  Redaction,
  RedactionTarget,
  Removal,
  Scope,
  SearchPage,
  SearchQuery,
  SessionQuery,
  Store,
  Watched,
} from "../store.ts"
import { BlobFiles } from "./blobs.ts"
import { waitingItems } from "./changes/changed-rows.ts"
import { newestVersion, readChanges } from "./changes/changes.ts"
import { collectStore } from "./cleanup/collect-store.ts"
import { admitItem } from "./commit/admit.ts"
import { applyCommit } from "./commit/apply.ts"
import type { Applier } from "./commit/commit-write.ts"
import { claimLease, releaseLease, renewLease } from "./commit/lease.ts"
import { OpenTails } from "./commit/open-tail.ts"
import { type Versions, Writer } from "./commit/writer.ts"
import { type Database, toStemmaError } from "./connection/database.ts"
import { type OpenOptions, retryBusy } from "./connection/open.ts"
import { WalUpkeep } from "./connection/wal-upkeep.ts"
import { Watching } from "./connection/watch.ts"
import { WorkerClient } from "./connection/worker-client.ts"
import { readHistory, sessionHead } from "./read/read-history.ts"
import { readPermissions } from "./read/read-permissions.ts"
import { readParents, readSession, readSessions, readTree } from "./read/read-sessions.ts"
import { Segments } from "./read/segments.ts"
import { parseStored } from "./rows/codec.ts"
import { Names } from "./rows/dictionary.ts"
import { decodeID } from "./rows/id-codec.ts"

export interface StoreParts {
  open: OpenOptions
  clock: Clock
  holder: Holder
}

/** The port over one SQLite file: commits and short reads here, everything long in the worker thread. */
export class SqliteStore implements Store {
  readonly name = "sqlite"
  readonly capabilities = { durable: true, multiProcess: true, sharesHistory: true, indexedSearch: true }
  readonly blobs: BlobStore
  readonly #db: Database
  readonly #id: string
  readonly #applier: Applier
  readonly #clock: Clock
  readonly #holder: Holder
  readonly #readOnly: boolean
  readonly #files: BlobFiles
  readonly #writer: Writer
  readonly #worker: WorkerClient
  readonly #upkeep: WalUpkeep
  readonly #watching: Watching
  readonly #unfinished = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(db: Database, parts: StoreParts) {
    this.#db = db
    this.#id = String(db.get("SELECT value FROM meta WHERE name = 'id'")?.[0])
    const names = new Names(db)
    const segments = new Segments(db)
    const tails = new OpenTails(db)
    // Times are stored as integers, whatever the clock counts in.
    this.#clock = { now: () => Math.floor(parts.clock.now()) }
    this.#applier = { db, names, segments, tails, clock: this.#clock }
    this.#holder = parts.holder
    this.#readOnly = parts.open.readOnly
    this.#files = new BlobFiles(`${db.path}-blobs`, parts.clock)
    this.blobs = {
      put: async (bytes) => {
        this.#refuseReadOnly()
        return await this.#finish(this.#files.put(bytes))
      },
      get: (hash, range) => this.#files.get(hash, range),
      size: (hash) => this.#files.size(hash),
    }
    this.#worker = new WorkerClient(parts.open)
    this.#upkeep = new WalUpkeep(this.#worker, db)
    this.#watching = new Watching(`${db.path}-wal`, this.#newestChanges())
    this.#writer = new Writer(db, {
      pressure: () => this.#upkeep.pressure,
      begin: () => tails.begin(),
      newest: () => tails.newest ?? newestVersion(this.#applier),
      settle: (writes) => {
        names.settle()
        this.#upkeep.wrote(writes)
        this.#watching.wake()
      },
      rollback: () => {
        names.forget()
        segments.forgetAll()
        tails.forgetAll()
      },
    })
  }

  commit(commit: Commit): Promise<Committed> {
    let prepared: Commit
    try {
      this.#refuseReadOnly()
      prepared = prepareCommit(commit)
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#writer.run((versions) => this.#apply(prepared, versions))
  }

  #apply(prepared: Commit, versions: Versions): Committed {
    const { version, seq, sealed } = applyCommit(this.#applier, prepared, versions)
    if (sealed) this.#upkeep.sealed()
    return { cursor: encodeCursor(this.#id, version), version, seq }
  }

  session(id: string): Promise<Session> {
    return this.#read(() => readSession(this.#applier, id))
  }

  sessions(query: SessionQuery = {}): Promise<Page<Session>> {
    return this.#read(() => readSessions(this.#applier, query))
  }

  tree(rootID: string): Promise<Session[]> {
    return this.#read(() => readTree(this.#applier, rootID))
  }

  parents(sessionID: string): Promise<Session[]> {
    return this.#read(() => readParents(this.#applier, sessionID))
  }

  history(sessionID: string, query: HistoryQuery = {}): Promise<HistoryPage> {
    return this.#read(() => readHistory(this.#applier, sessionID, query))
  }

  todos(sessionID: string): Promise<Todo[]> {
    return this.#read(() => {
      const { key } = sessionHead(this.#applier, sessionID)
      const row = this.#db.get("SELECT data FROM todos WHERE session = ?", key)
      return row ? (parseStored(row[0], `The todos of session ${sessionID}`) as Todo[]) : []
    })
  }

  permissions(query: PermissionQuery): Promise<PermissionRequest[]> {
    return this.#read(() => readPermissions(this.#applier, query))
  }

  changes(scope: Scope, since?: string, options?: { limit?: number }): Promise<Changes> {
    return this.#read(() => readChanges(this.#applier, this.#id, { scope, since, limit: options?.limit }))
  }

  cursor(): Promise<string> {
    return this.#read(() => encodeCursor(this.#id, newestVersion(this.#applier)))
  }

  watch(listener: (change: Watched) => void): () => void {
    if (this.#closing) throw storeClosed()
    return this.#watching.add(listener)
  }

  async search(query: SearchQuery): Promise<SearchPage> {
    this.#refuseClosed()
    return await this.#worker.ask("search", query)
  }

  async admit(item: InboxItem): Promise<Admitted> {
    this.#refuseReadOnly()
    const prepared = prepareItem(item)
    const admitted = await this.#writer.run((versions) => {
      const { duplicate } = admitItem(this.#applier, prepared, versions)
      return { duplicate, newest: versions.newest() }
    })
    return { duplicate: admitted.duplicate, cursor: encodeCursor(this.#id, admitted.newest) }
  }

  inbox(sessionID: string): Promise<InboxItem[]> {
    return this.#read(() => {
      const reader = this.#applier
      return waitingItems(reader, sessionHead(reader, sessionID).key, sessionID)
    })
  }

  async claim(sessionID: string): Promise<Lease> {
    this.#refuseReadOnly()
    return await this.#writer.run(() => {
      this.#applier.tails.forget(sessionID)
      return claimLease(this.#db, sessionID, this.#holder, this.#clock.now())
    })
  }

  async renew(lease: Lease): Promise<Lease> {
    this.#refuseReadOnly()
    return await this.#writer.run(() => {
      this.#applier.tails.forget(lease.sessionID)
      return renewLease(this.#db, lease, this.#holder, this.#clock.now())
    })
  }

  async release(lease: Lease): Promise<void> {
    this.#refuseReadOnly()
    await this.#writer.run(() => {
      this.#applier.tails.forget(lease.sessionID)
      releaseLease(this.#db, lease)
    })
  }

  async remove(sessionID: string): Promise<Removal> {
    this.#refuseReadOnly()
    const input = { sessionID, nowMs: this.#clock.now(), collecting: false }
    const { removal, freed } = await this.#worker.ask("remove", input)
    const blobs = await this.#files.removeAll(freed)
    this.#watching.wake()
    return { ...removal, blobs }
  }

  async redact(target: RedactionTarget): Promise<Redaction> {
    this.#refuseReadOnly()
    const input = { target, nowMs: this.#clock.now(), holder: this.#holder }
    const { redaction, freed } = await this.#worker.ask("redact", input)
    await this.#files.removeAll(freed)
    this.#watching.wake()
    return redaction
  }

  async collect(options: CollectOptions = {}): Promise<Collected> {
    this.#refuseReadOnly()
    const collecting = { worker: this.#worker, files: this.#files }
    return await this.#finish(collectStore(collecting, { ...options, nowMs: this.#clock.now() }))
  }

  async check(): Promise<{ problems: string[] }> {
    this.#refuseClosed()
    return { problems: await this.#finish(this.#findProblems()) }
  }

  async #findProblems(): Promise<string[]> {
    const problems = await this.#worker.ask("check")
    for (let hashes = await this.#worker.ask("namedBlobs", ""); hashes.length > 0; ) {
      for (const hash of hashes) {
        const found = await this.#files.size(hash).catch(() => undefined)
        if (found === undefined) problems.push(`a message names blob ${hash}, which is missing`)
      }
      hashes = await this.#worker.ask("namedBlobs", hashes.at(-1)!)
    }
    return problems
  }

  /** What takes several steps is finished before the store closes. */
  async #finish<T>(work: Promise<T>): Promise<T> {
    this.#unfinished.add(work)
    try {
      return await work
    } finally {
      this.#unfinished.delete(work)
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    this.#watching.close()
    this.#upkeep.close()
    await Promise.allSettled(this.#unfinished)
    await this.#writer.close()
    await this.#worker.close()
    this.#db.close()
  }

  /** A short read in one snapshot, tried again if a lock is in the way. */
  async #read<T>(body: () => T): Promise<T> {
    this.#refuseClosed()
    const attempt = () => {
      this.#refuseClosed()
      return this.#db.snapshot(body)
    }
    try {
      return await retryBusy(attempt)
    } catch (error) {
      throw toStemmaError(error, this.#db.path)
    }
  }

  #newestChanges(): () => Watched | undefined {
    let seen = -1
    return () => {
      const newest = newestVersion(this.#applier)
      const before = seen
      seen = newest
      if (before < 0 || newest === before) return undefined
      const rows = this.#db.all(
        `SELECT ifnull(s.id, r.id) FROM tips t LEFT JOIN sessions s ON s.key = t.session
           LEFT JOIN removed r ON r.session = t.session WHERE t.version > ? AND ifnull(s.importing, 0) = 0`,
        before,
      )
      const sessions = rows.filter(([id]) => id !== null).map(([id]) => decodeID("session", id))
      return { cursor: encodeCursor(this.#id, newest), sessions }
    }
  }

  #refuseClosed(): void {
    if (this.#closing) throw storeClosed()
  }

  #refuseReadOnly(): void {
    this.#refuseClosed()
    if (this.#readOnly) throw readOnly(this.#db.path)
  }
}
