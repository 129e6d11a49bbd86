import type { InboxItem } from "../../protocol/index.ts"
import type { Commit } from "../commit.ts"
import { decodeCursor, encodeCursor } from "../cursor.ts"
import { OpenedFiles } from "../opened-files.ts"
import {
  findVisible,
  readChanges,
  readHistory,
  readInbox,
  readParents,
  readPermissions,
  readSession,
  readSessions,
  readTodos,
  readTree,
  searchSessions,
} from "../plain/index.ts"
import { prepareCommit, prepareItem } from "../prepare.ts"
import { permissionQueryTooBroad, storeClosed, storeReadOnly } from "../refusals.ts"
import type {
  BlobStore,
  Capabilities,
  CollectOptions,
  HistoryQuery,
  Lease,
  PermissionQuery,
  Scope,
  SearchQuery,
  SessionQuery,
  Store,
  Watched,
} from "../store.ts"
import { findProblems } from "./catalog/check.ts"
import { collectJob } from "./catalog/collect.ts"
import { follow } from "./catalog/follow.ts"
import { RereadNeededError, unloadIdle, withLoaded } from "./catalog/loader.ts"
import { adoptFound, reread, scanForChanges } from "./catalog/open.ts"
import { hasNewSize, mayBeInScope, sessionsToSearch, sessionsWithPermissions } from "./catalog/selection.ts"
import type { Core, TrackedSession } from "./core.ts"
import { blobSize, draftBlob, readBlob, syncBlob } from "./disk/blobs.ts"
import type { StoreLock } from "./disk/lock.ts"
import { adoptNewLines } from "./foreign/adoption.ts"
import { BatchDraft } from "./journal/batch-draft.ts"
import {
  admitJob,
  catchUpJob,
  claimJob,
  commitJob,
  redactJob,
  releaseJob,
  removeJob,
  renewJob,
} from "./journal/write-jobs.ts"
import { type WriteJob, Writer } from "./journal/writer.ts"

/** How often the directories are scanned for files that other programs added or removed. */
const scanEveryMs = 2000
/** How often the journal is checked for commits of other processes while the store is watched. */
const pollMs = 30
const retriesMax = 5

const capabilities: Capabilities = {
  durable: true,
  multiProcess: true,
  sharesHistory: false,
  indexedSearch: false,
}

export class JsonlStore implements Store {
  readonly name = "jsonl"
  readonly capabilities = capabilities
  readonly blobs: BlobStore
  readonly #core: Core
  readonly #lock: StoreLock
  readonly #writer: Writer
  readonly #opened: OpenedFiles
  #scannedAt = performance.now()
  #scanning: Promise<void> | undefined
  #rereading: Promise<void> | undefined
  #poll: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined

  constructor(core: Core, lock: StoreLock) {
    this.#core = core
    this.#lock = lock
    this.#writer = new Writer(core, lock)
    this.#opened = new OpenedFiles([core.files.root, core.files.path("blobs")])
    this.blobs = {
      put: (bytes) => this.#putBlob(bytes),
      get: async (hash, range) => readBlob(this.#open(), hash, range),
      size: async (hash) => blobSize(this.#open(), hash),
    }
  }

  /** Adopts what other programs wrote before the store was opened. */
  async start(): Promise<this> {
    const core = this.#core
    const { foreign, grown } = core.unadopted
    if (foreign.length + grown.length > 0) {
      await this.#writer.submit(catchUpJob([], (draft) => adoptFound(core, draft)))
    }
    return this
  }

  async commit(commit: Commit) {
    this.#open()
    const prepared = prepareCommit(commit)
    return this.#write(commitJob(this.#core, prepared))
  }

  async session(id: string) {
    await this.#refresh([id])
    return readSession(this.#core.state, id)
  }

  async sessions(query?: SessionQuery) {
    await this.#refresh([])
    await this.#scan()
    return readSessions(this.#core.state, query)
  }

  async tree(rootID: string) {
    await this.#refresh([rootID])
    await this.#scan()
    return readTree(this.#core.state, rootID)
  }

  async parents(sessionID: string) {
    await this.#refresh([sessionID])
    return readParents(this.#core.state, sessionID)
  }

  async history(sessionID: string, query?: HistoryQuery) {
    return this.#read([sessionID], (core) => readHistory(core.state, sessionID, query))
  }

  async todos(sessionID: string) {
    return this.#read([sessionID], (core) => readTodos(core.state, sessionID))
  }

  async permissions(query: PermissionQuery) {
    const { sessionID, permissionID, open } = query
    const use = () => readPermissions(this.#core.state, query)
    if (sessionID !== undefined) return this.#read([sessionID], use)
    await this.#refresh([])
    if (permissionID === undefined && !open) throw permissionQueryTooBroad()
    await this.#scan()
    const found = await this.#withLoaded(() => sessionsWithPermissions(this.#core, query), use)
    unloadIdle(this.#core)
    return found
  }

  async changes(scope: Scope, since?: string, options: { limit?: number } = {}) {
    const named = "sessionID" in scope ? [scope.sessionID] : []
    await this.#refresh(named)
    if (!("sessionID" in scope)) await this.#scan()
    const { state } = this.#core
    const version = decodeCursor(state.storeID, since, state.version)
    const changed = [...state.sessions.values()].filter(
      (session) => session.newest > version && mayBeInScope(this.#core, session, scope),
    )
    return this.#withLoaded(
      () => changed.map(({ info }) => info.id),
      () => readChanges(state, scope, { since, limit: options.limit }),
    )
  }

  async cursor() {
    await this.#refresh([])
    const { storeID, version } = this.#core.state
    return encodeCursor(storeID, version)
  }

  watch(listener: (change: Watched) => void): () => void {
    const { watchers } = this.#open()
    follow(this.#core)
    const stop = watchers.add(listener)
    this.#poll ??= this.#startPolling()
    return () => {
      stop()
      if (watchers.size > 0) return
      clearInterval(this.#poll)
      this.#poll = undefined
    }
  }

  async search(query: SearchQuery) {
    await this.#refresh([])
    await this.#scan()
    const { state } = this.#core
    return this.#withLoaded(
      () => sessionsToSearch(this.#core, query),
      () => searchSessions(state, query),
    )
  }

  async admit(item: InboxItem) {
    this.#open()
    return this.#write(admitJob(this.#core, prepareItem(item)))
  }

  async inbox(sessionID: string) {
    return this.#read([sessionID], (core) => readInbox(core.state, sessionID))
  }

  async claim(sessionID: string) {
    return this.#write(claimJob(this.#core, sessionID))
  }

  async renew(lease: Lease) {
    return this.#write(renewJob(this.#core, lease))
  }

  async release(lease: Lease) {
    return this.#write(releaseJob(this.#core, lease))
  }

  async remove(sessionID: string) {
    return this.#write(removeJob(this.#core, sessionID))
  }

  async redact(target: { sessionID: string; messageID?: string; partID?: string }) {
    return this.#write(redactJob(this.#core, target))
  }

  async collect(options: CollectOptions = {}) {
    return this.#write(collectJob(this.#core, options))
  }

  async check() {
    await this.#refresh([])
    this.#scannedAt = Number.NEGATIVE_INFINITY
    await this.#scan()
    return { problems: await findProblems(this.#core) }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    clearInterval(this.#poll)
    await this.#writer.close()
    this.#core.watchers.clear()
    this.#core.journal.close()
    if (!this.#core.readOnly) this.#lock.close()
  }

  #open(): Core {
    if (this.#closing) throw storeClosed()
    this.#opened.check()
    return this.#core
  }

  async #write<T>(job: WriteJob<T>): Promise<T> {
    if (!this.#open().readOnly) return this.#writer.submit(job)
    throw storeReadOnly(this.#core.files.root)
  }

  /** Runs a read that needs the messages of some sessions in memory. */
  async #read<T>(ids: string[], use: (core: Core) => T): Promise<T> {
    await this.#refresh(ids)
    // A missing or unpublished session is `not_found` without reading its files.
    for (const id of ids) findVisible(this.#core.state, id)
    const result = await this.#withLoaded(
      () => ids,
      () => use(this.#core),
    )
    unloadIdle(this.#core)
    return result
  }

  /**
   * Loads sessions and runs `use`. Retries after a full reread if other processes wrote so much that the journal no
   * longer has it.
   */
  async #withLoaded<T>(ids: () => Iterable<string>, use: () => T): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await withLoaded(this.#core, ids(), use)
      } catch (error) {
        if (!(error instanceof RereadNeededError) || tries === retriesMax) throw error
        await this.#reread()
      }
    }
  }

  /** Applies commits of other processes, and adopts lines that other programs appended to the named sessions. */
  async #refresh(ids: string[]): Promise<void> {
    const core = this.#open()
    if (!follow(core)) await this.#reread()
    for (const id of ids) {
      const tracked = core.tracked.get(id)
      if (!tracked) continue
      if (tracked.problem && !core.state.sessions.has(id)) throw tracked.problem
      if (hasNewSize(core, tracked)) await this.#adopt(tracked)
    }
  }

  async #adopt(tracked: TrackedSession): Promise<void> {
    const core = this.#core
    try {
      if (!core.readOnly) return await this.#writer.submit(catchUpJob([tracked.id]))
      const { version } = core.state
      await adoptNewLines(core, tracked, { draft: new BatchDraft(core), forWriting: false })
      if (core.state.version > version) core.adoptedInMemoryOnly = true
    } catch (error) {
      // The next call checks the file again and reports the same problem.
      tracked.seen = 0
      throw error
    }
  }

  async #reread(): Promise<void> {
    const again = this.#core.readOnly
      ? () => reread(this.#core, { locked: false })
      : () => this.#writer.submit(catchUpJob([]))
    this.#rereading ??= again().finally(() => {
      this.#rereading = undefined
    })
    await this.#rereading
  }

  /** Scans for files that other programs added or removed, at most every `scanEveryMs`. */
  async #scan(): Promise<void> {
    if (performance.now() - this.#scannedAt < scanEveryMs) return
    this.#scanning ??= this.#scanNow().finally(() => {
      this.#scannedAt = performance.now()
      this.#scanning = undefined
    })
    await this.#scanning
  }

  async #scanNow(): Promise<void> {
    const core = this.#core
    if (core.readOnly || !(await scanForChanges(core))) return
    await this.#writer.submit(catchUpJob([], (draft) => adoptFound(core, draft)))
  }

  #startPolling(): NodeJS.Timeout {
    const timer = setInterval(() => {
      try {
        if (!follow(this.#core)) this.#reread().catch((error: Error) => this.#core.warn(error.message))
      } catch (error) {
        this.#core.warn((error as Error).message)
      }
    }, pollMs)
    timer.unref()
    return timer
  }

  async #putBlob(bytes: Uint8Array): Promise<string> {
    const core = this.#open()
    if (core.readOnly) await this.#write(catchUpJob([]))
    const { hash, publish } = await draftBlob(core, bytes)
    await this.#write(
      catchUpJob([], async () => {
        publish()
        await syncBlob(core, hash)
      }),
    )
    this.#opened.remember()
    return hash
  }
}
