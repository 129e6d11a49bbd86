import type { Clock, InboxItem, PermissionRequest, Session, Todo } from "../../protocol/index.ts"
import type { Commit } from "../commit.ts"
import { encodeCursor } from "../cursor.ts"
import { FutureLeases } from "../future-leases.ts"
import { OpenedFiles } from "../opened-files.ts"
import { prepareCommit, prepareItem } from "../prepare.ts"
import { storeClosed, storeReadOnly } from "../refusals.ts"
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
import type { CommitContext } from "./commit/commit-write.ts"
import { claimLease, releaseLease, renewLease } from "./commit/lease.ts"
import { OpenTails } from "./commit/open-tail.ts"
import { type Versions, Writer } from "./commit/writer.ts"
import { BackgroundWork } from "./connection/background-work.ts"
import { type Database, toStemmaError } from "./connection/database.ts"
import { type OpenOptions, retryBusy } from "./connection/open.ts"
import { CommitWatcher } from "./connection/watch.ts"
import { WorkerClient } from "./connection/worker-client.ts"
import { readHistory, sessionHead } from "./read/read-history.ts"
import { readPermissions } from "./read/read-permissions.ts"
import { readParents, readSession, readSessions, readTree } from "./read/read-sessions.ts"
import { Segments } from "./read/segments.ts"
import { Dictionary } from "./rows/dictionary.ts"
import { decodeID } from "./rows/id-codec.ts"
import { parseStored } from "./rows/message-rows.ts"

interface SqliteStoreInput {
  open: OpenOptions
  clock: Clock
  holder: Holder
}

/**
 * Implements the port on one SQLite file. Commits and short reads run in this thread; search, removal, redaction,
 * collection and checks run in a worker thread.
 */
export class SqliteStore implements Store {
  readonly name = "sqlite"
  readonly capabilities = { durable: true, multiProcess: true, sharesHistory: true, indexedSearch: true }
  readonly blobs: BlobStore
  readonly #db: Database
  readonly #id: string
  readonly #context: CommitContext
  readonly #clock: Clock
  readonly #holder: Holder
  readonly #futureLeases: FutureLeases
  readonly #readOnly: boolean
  readonly #files: BlobFiles
  readonly #opened: OpenedFiles
  readonly #writer: Writer
  readonly #worker: WorkerClient
  readonly #background: BackgroundWork
  readonly #watcher: CommitWatcher
  readonly #unfinished = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(db: Database, parts: SqliteStoreInput) {
    this.#db = db
    this.#id = String(db.get("SELECT value FROM meta WHERE name = 'id'")?.[0])
    const dictionary = new Dictionary(db)
    const segments = new Segments(db)
    const tails = new OpenTails(db)
    // Columns for times are integers, but a caller's clock may return fractions of a millisecond.
    this.#clock = { now: () => Math.floor(parts.clock.now()) }
    this.#context = { db, dictionary, segments, tails, clock: this.#clock }
    this.#holder = parts.holder
    this.#futureLeases = new FutureLeases(parts.clock)
    this.#readOnly = parts.open.readOnly
    this.#files = new BlobFiles(`${db.path}-blobs`, parts.clock)
    this.#opened = new OpenedFiles([db.path, `${db.path}-wal`, `${db.path}-blobs`])
    this.blobs = {
      put: async (bytes) => {
        this.#refuseReadOnly()
        const hash = await this.#finish(this.#files.put(bytes))
        this.#opened.remember()
        return hash
      },
      get: (hash, range) => this.#files.get(hash, range),
      size: (hash) => this.#files.size(hash),
    }
    this.#worker = new WorkerClient(parts.open)
    this.#background = new BackgroundWork(this.#worker, db)
    this.#watcher = new CommitWatcher(`${db.path}-wal`, this.#newestChanges())
    this.#writer = new Writer(db, {
      backpressure: () => this.#background.backpressure,
      begin: () => {
        this.#opened.check()
        tails.begin()
      },
      newestVersion: () => tails.newestVersion ?? newestVersion(this.#context),
      committed: (writes) => {
        dictionary.keepNewTexts()
        this.#background.countWrites(writes)
        this.#watcher.wake()
      },
      rolledBack: () => {
        dictionary.forgetNewTexts()
        segments.forgetAll()
        tails.forgetAll()
      },
    })
  }

  get delaysCommits(): boolean {
    return this.#background.delaysCommits
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
    const { version, seq, needsIndexing } = applyCommit(this.#context, prepared, versions)
    if (needsIndexing) this.#background.scheduleIndexing()
    return { cursor: encodeCursor(this.#id, version), version, seq }
  }

  session(id: string): Promise<Session> {
    return this.#read(() => readSession(this.#context, id))
  }

  sessions(query: SessionQuery = {}): Promise<Page<Session>> {
    return this.#read(() => readSessions(this.#context, query))
  }

  tree(rootID: string): Promise<Session[]> {
    return this.#read(() => readTree(this.#context, rootID))
  }

  parents(sessionID: string): Promise<Session[]> {
    return this.#read(() => readParents(this.#context, sessionID))
  }

  history(sessionID: string, query: HistoryQuery = {}): Promise<HistoryPage> {
    return this.#read(() => readHistory(this.#context, sessionID, query))
  }

  todos(sessionID: string): Promise<Todo[]> {
    return this.#read(() => {
      const { key } = sessionHead(this.#context, sessionID)
      const row = this.#db.get("SELECT data FROM todos WHERE session = ?", key)
      return row ? (parseStored(row[0], `The todos of session ${sessionID}`) as Todo[]) : []
    })
  }

  permissions(query: PermissionQuery): Promise<PermissionRequest[]> {
    return this.#read(() => readPermissions(this.#context, query))
  }

  changes(scope: Scope, since?: string, options?: { limit?: number }): Promise<Changes> {
    return this.#read(() => readChanges(this.#context, this.#id, { scope, since, limit: options?.limit }))
  }

  cursor(): Promise<string> {
    return this.#read(() => encodeCursor(this.#id, newestVersion(this.#context)))
  }

  watch(listener: (change: Watched) => void): () => void {
    if (this.#closing) throw storeClosed()
    return this.#watcher.add(listener)
  }

  async search(query: SearchQuery): Promise<SearchPage> {
    this.#refuseClosed()
    return await this.#worker.ask("search", query)
  }

  async admit(item: InboxItem): Promise<Admitted> {
    this.#refuseReadOnly()
    const prepared = prepareItem(item)
    const admitted = await this.#writer.run((versions) => {
      const { duplicate } = admitItem(this.#context, prepared, versions)
      return { duplicate, newest: versions.newest() }
    })
    return { duplicate: admitted.duplicate, cursor: encodeCursor(this.#id, admitted.newest) }
  }

  inbox(sessionID: string): Promise<InboxItem[]> {
    return this.#read(() => {
      const reader = this.#context
      return waitingItems(reader, sessionHead(reader, sessionID).key, sessionID)
    })
  }

  async claim(sessionID: string): Promise<Lease> {
    this.#refuseReadOnly()
    return await this.#writer.run(() => {
      this.#context.tails.forget(sessionID)
      const claim = { holder: this.#holder, nowMs: this.#clock.now(), futureLeases: this.#futureLeases }
      return claimLease(this.#db, sessionID, claim)
    })
  }

  async renew(lease: Lease): Promise<Lease> {
    this.#refuseReadOnly()
    return await this.#writer.run(() => {
      this.#context.tails.forget(lease.sessionID)
      return renewLease(this.#db, lease, this.#holder, this.#clock.now())
    })
  }

  async release(lease: Lease): Promise<void> {
    this.#refuseReadOnly()
    await this.#writer.run(() => {
      this.#context.tails.forget(lease.sessionID)
      releaseLease(this.#db, lease)
    })
  }

  async remove(sessionID: string): Promise<Removal> {
    this.#refuseReadOnly()
    const input = { sessionID, nowMs: this.#clock.now(), collecting: false }
    const { removal, freed } = await this.#worker.ask("remove", input)
    const blobs = await this.#files.removeAll(freed)
    this.#watcher.wake()
    return { ...removal, blobs }
  }

  async redact(target: RedactionTarget): Promise<Redaction> {
    this.#refuseReadOnly()
    const input = { target, nowMs: this.#clock.now(), holder: this.#holder }
    const { redaction, freed } = await this.#worker.ask("redact", input)
    await this.#files.removeAll(freed)
    this.#watcher.wake()
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
        if (found === undefined) problems.push(`blob ${hash} is missing, but a message refers to it`)
      }
      hashes = await this.#worker.ask("namedBlobs", hashes.at(-1)!)
    }
    return problems
  }

  /** `close` waits for work that was started here. */
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
    this.#watcher.close()
    this.#background.close()
    await Promise.allSettled(this.#unfinished)
    await this.#writer.close()
    await this.#worker.close()
    this.#db.close()
  }

  /** Runs a short read in one snapshot and retries it while another connection holds a lock. */
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
      const newest = newestVersion(this.#context)
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
    this.#opened.check()
  }

  #refuseReadOnly(): void {
    this.#refuseClosed()
    if (this.#readOnly) throw storeReadOnly(this.#db.path)
  }
}
