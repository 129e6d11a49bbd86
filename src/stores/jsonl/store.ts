import { type InboxItem, StemmaError } from "../../protocol/index.ts"
import type { Commit } from "../commit.ts"
import { decodeCursor, encodeCursor } from "../cursor.ts"
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
import { permissionQueryTooBroad } from "../refusals.ts"
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
import { dropIdle, MissedError, withLoaded } from "./catalog/loader.ts"
import { adoptFound, lookAround, reread } from "./catalog/open.ts"
import { asked, hasGrown, isNear, searched } from "./catalog/selection.ts"
import type { Core, Entry } from "./core.ts"
import { blobSize, draftBlob, readBlob, syncBlob } from "./disk/blobs.ts"
import type { StoreLock } from "./disk/lock.ts"
import { settleSession } from "./foreign/adoption.ts"
import { BatchDraft } from "./journal/batch-draft.ts"
import {
  admitJob,
  claimJob,
  commitJob,
  lookJob,
  redactJob,
  releaseJob,
  removeJob,
  renewJob,
} from "./journal/write-jobs.ts"
import { closedError, type WriteJob, Writer } from "./journal/writer.ts"

/** Files that others put into the folders are looked for at most that often. */
const lookMs = 2000
/** How often the journal is looked at for commits of other processes while somebody watches. */
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
  #lookedAt = performance.now()
  #looking: Promise<void> | undefined
  #rereading: Promise<void> | undefined
  #poll: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined

  constructor(core: Core, lock: StoreLock) {
    this.#core = core
    this.#lock = lock
    this.#writer = new Writer(core, lock)
    this.blobs = {
      put: (bytes) => this.#putBlob(bytes),
      get: async (hash, range) => readBlob(this.#open(), hash, range),
      size: async (hash) => blobSize(this.#open(), hash),
    }
  }

  /** Takes in what others wrote before the store was opened. */
  async start(): Promise<this> {
    const core = this.#core
    const { foreign, grown } = core.unsettled
    if (foreign.length + grown.length > 0) {
      await this.#writer.submit(lookJob([], (draft) => adoptFound(core, draft)))
    }
    return this
  }

  async commit(commit: Commit) {
    this.#open()
    const prepared = prepareCommit(commit)
    return this.#write(commitJob(this.#core, prepared))
  }

  async session(id: string) {
    await this.#freshen([id])
    return readSession(this.#core.state, id)
  }

  async sessions(query?: SessionQuery) {
    await this.#freshen([])
    await this.#look()
    return readSessions(this.#core.state, query)
  }

  async tree(rootID: string) {
    await this.#freshen([rootID])
    await this.#look()
    return readTree(this.#core.state, rootID)
  }

  async parents(sessionID: string) {
    await this.#freshen([sessionID])
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
    await this.#freshen([])
    if (permissionID === undefined && !open) throw permissionQueryTooBroad()
    await this.#look()
    const found = await this.#withLoaded(() => asked(this.#core, query), use)
    dropIdle(this.#core)
    return found
  }

  async changes(scope: Scope, since?: string, options: { limit?: number } = {}) {
    const named = "sessionID" in scope ? [scope.sessionID] : []
    await this.#freshen(named)
    if (!("sessionID" in scope)) await this.#look()
    const { state } = this.#core
    const version = decodeCursor(state.storeID, since, state.version)
    const changed = [...state.sessions.values()].filter(
      (session) => session.newest > version && isNear(this.#core, session, scope),
    )
    return this.#withLoaded(
      () => changed.map(({ info }) => info.id),
      () => readChanges(state, scope, { since, limit: options.limit }),
    )
  }

  async cursor() {
    await this.#freshen([])
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
    await this.#freshen([])
    await this.#look()
    const { state } = this.#core
    return this.#withLoaded(
      () => searched(this.#core, query),
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
    await this.#freshen([])
    this.#lookedAt = Number.NEGATIVE_INFINITY
    await this.#look()
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
    if (this.#closing) throw closedError()
    return this.#core
  }

  async #write<T>(job: WriteJob<T>): Promise<T> {
    if (!this.#open().readOnly) return this.#writer.submit(job)
    throw new StemmaError("denied", "The store was opened for reading only. Open it for writing.")
  }

  /** Reads something of sessions whose messages must be in memory for it. */
  async #read<T>(ids: string[], use: (core: Core) => T): Promise<T> {
    await this.#freshen(ids)
    // A session that is not there, or not yet, is told without reading anything.
    for (const id of ids) findVisible(this.#core.state, id)
    const result = await this.#withLoaded(
      () => ids,
      () => use(this.#core),
    )
    dropIdle(this.#core)
    return result
  }

  /** Reads sessions, again and again if other processes do much at the same time. */
  async #withLoaded<T>(ids: () => Iterable<string>, use: () => T): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await withLoaded(this.#core, ids(), use)
      } catch (error) {
        if (!(error instanceof MissedError) || tries === retriesMax) throw error
        await this.#reread()
      }
    }
  }

  /** Takes in what other processes committed, and what other programs wrote into the named sessions. */
  async #freshen(ids: string[]): Promise<void> {
    const core = this.#open()
    if (!follow(core)) await this.#reread()
    for (const id of ids) {
      const replicaPart = core.entries.get(id)
      if (!replicaPart) continue
      if (replicaPart.problem && !core.state.sessions.has(id)) throw replicaPart.problem
      if (hasGrown(core, replicaPart)) await this.#settle(replicaPart)
    }
  }

  async #settle(replicaPart: Entry): Promise<void> {
    const core = this.#core
    try {
      if (!core.readOnly) return await this.#writer.submit(lookJob([replicaPart.id]))
      const { version } = core.state
      await settleSession(core, replicaPart, { draft: new BatchDraft(core), now: false })
      if (core.state.version > version) core.provisional = true
    } catch (error) {
      // Whoever asks next is told as well.
      replicaPart.seen = 0
      throw error
    }
  }

  async #reread(): Promise<void> {
    const again = this.#core.readOnly
      ? () => reread(this.#core, { locked: false })
      : () => this.#writer.submit(lookJob([]))
    this.#rereading ??= again().finally(() => {
      this.#rereading = undefined
    })
    await this.#rereading
  }

  /** Looks for files that others put here or took away. */
  async #look(): Promise<void> {
    if (performance.now() - this.#lookedAt < lookMs) return
    this.#looking ??= this.#lookNow().finally(() => {
      this.#lookedAt = performance.now()
      this.#looking = undefined
    })
    await this.#looking
  }

  async #lookNow(): Promise<void> {
    const core = this.#core
    if (core.readOnly || !(await lookAround(core))) return
    await this.#writer.submit(lookJob([], (draft) => adoptFound(core, draft)))
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
    if (core.readOnly) await this.#write(lookJob([]))
    const { hash, place } = await draftBlob(core, bytes)
    await this.#write(
      lookJob([], async () => {
        place()
        await syncBlob(core, hash)
      }),
    )
    return hash
  }
}
