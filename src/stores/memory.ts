import { createHash, randomBytes } from "node:crypto"
import { type Clock, type InboxItem, systemClock } from "../protocol/index.ts"
import type { Commit } from "./commit.ts"
import { encodeCursor } from "./cursor.ts"
import { FutureLeases } from "./future-leases.ts"
import { currentHolder } from "./holder.ts"
import {
  type Applied,
  admitItem,
  applyCommit,
  checkState,
  claimLease,
  collectState,
  createState,
  type PlainState,
  readChanges,
  readHistory,
  readInbox,
  readParents,
  readPermissions,
  readSession,
  readSessions,
  readTodos,
  readTree,
  redactContent,
  releaseLease,
  removeSession,
  renewLease,
  searchSessions,
} from "./plain/index.ts"
import { prepareCommit, prepareItem } from "./prepare.ts"
import { noBlob, storeClosed } from "./refusals.ts"
import type {
  BlobStore,
  Capabilities,
  CollectOptions,
  Holder,
  Lease,
  PermissionQuery,
  Store,
  Watched,
} from "./store.ts"
import { Watchers } from "./watchers.ts"

export interface MemoryStoreOptions {
  clock?: Clock
  holder?: Holder
}

const capabilities: Capabilities = {
  durable: false,
  multiProcess: false,
  sharesHistory: false,
  indexedSearch: false,
}

/**
 * Creates a store in memory that loses its data when it is closed. It copies histories instead of sharing segments,
 * which keeps it simple enough to be the reference of the property tests.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options)
}

class MemoryStore implements Store {
  readonly name = "memory"
  readonly capabilities = capabilities
  readonly blobs: BlobStore
  readonly #state: PlainState = createState(randomBytes(8).toString("hex"))
  readonly #blobs = new Map<string, { bytes: Uint8Array; time: number }>()
  readonly #clock: Clock
  readonly #holder: Holder
  readonly #futureLeases: FutureLeases
  readonly #watchers = new Watchers()
  #closed = false

  constructor(options: MemoryStoreOptions) {
    this.#clock = options.clock ?? systemClock
    this.#holder = options.holder ?? currentHolder()
    this.#futureLeases = new FutureLeases(this.#clock)
    this.blobs = {
      put: async (bytes) => this.#putBlob(bytes),
      get: async (hash, range) => this.#blob(hash).slice(range?.start ?? 0, range?.end),
      size: async (hash) => this.#blob(hash).byteLength,
    }
  }

  async commit(commit: Commit) {
    const state = this.#open()
    const prepared = prepareCommit(commit)
    const applied = applyCommit(state, prepared, { nowMs: this.#clock.now() })
    const { version, seq } = applied
    return { cursor: this.#announce(applied), version, seq }
  }

  async session(id: string) {
    return readSession(this.#open(), id)
  }

  async sessions(query?: Parameters<Store["sessions"]>[0]) {
    return readSessions(this.#open(), query)
  }

  async tree(rootID: string) {
    return readTree(this.#open(), rootID)
  }

  async parents(sessionID: string) {
    return readParents(this.#open(), sessionID)
  }

  async history(sessionID: string, query?: Parameters<Store["history"]>[1]) {
    return readHistory(this.#open(), sessionID, query)
  }

  async todos(sessionID: string) {
    return readTodos(this.#open(), sessionID)
  }

  async permissions(query: PermissionQuery) {
    return readPermissions(this.#open(), query)
  }

  async changes(scope: Parameters<Store["changes"]>[0], since?: string, options: { limit?: number } = {}) {
    return readChanges(this.#open(), scope, { since, limit: options.limit })
  }

  async cursor() {
    const { storeID, version } = this.#open()
    return encodeCursor(storeID, version)
  }

  watch(listener: (change: Watched) => void): () => void {
    this.#open()
    return this.#watchers.add(listener)
  }

  async search(query: Parameters<Store["search"]>[0]) {
    return searchSessions(this.#open(), query)
  }

  async admit(item: InboxItem) {
    const state = this.#open()
    const applied = admitItem(state, prepareItem(item))
    if (!applied) return { duplicate: true, cursor: encodeCursor(state.storeID, state.version) }
    return { duplicate: false, cursor: this.#announce(applied) }
  }

  async inbox(sessionID: string) {
    return readInbox(this.#open(), sessionID)
  }

  async claim(sessionID: string) {
    return claimLease(this.#open(), sessionID, this.#claimant())
  }

  async renew(lease: Lease) {
    return renewLease(this.#open(), lease, this.#claimant())
  }

  async release(lease: Lease) {
    releaseLease(this.#open(), lease)
  }

  async remove(sessionID: string) {
    const { applied, removal, freedBlobs } = removeSession(this.#open(), sessionID, {
      nowMs: this.#clock.now(),
    })
    this.#announce(applied)
    return { ...removal, blobs: this.#dropBlobs(freedBlobs) }
  }

  async redact(target: { sessionID: string; messageID?: string; partID?: string }) {
    const { applied, redaction, freedBlobs } = redactContent(this.#open(), target, this.#claimant())
    this.#announce(applied)
    this.#dropBlobs(freedBlobs)
    return redaction
  }

  async collect(options: CollectOptions = {}) {
    const known = [...this.#blobs].map(([hash, { bytes, time }]) => ({ hash, time, bytes: bytes.byteLength }))
    const found = collectState(this.#open(), { ...options, nowMs: this.#clock.now(), blobs: known })
    if (!options.dryRun) this.#dropBlobs(found.blobs.map(({ hash }) => hash))
    return {
      messages: found.messages,
      sessions: found.sessions.length,
      blobs: found.blobs.length,
      blobBytes: found.blobs.reduce((sum, { bytes }) => sum + bytes, 0),
    }
  }

  async check() {
    return { problems: checkState(this.#open()) }
  }

  async close() {
    this.#closed = true
    this.#watchers.clear()
    this.#blobs.clear()
    this.#state.sessions.clear()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #open(): PlainState {
    if (!this.#closed) return this.#state
    throw storeClosed()
  }

  #claimant() {
    return { holder: this.#holder, nowMs: this.#clock.now(), futureLeases: this.#futureLeases }
  }

  /** Notifies the watchers of a change and returns its cursor. */
  #announce({ version, changed, removed }: Applied): string {
    const cursor = encodeCursor(this.#state.storeID, version)
    const visible = [...changed.values()].filter(({ session }) => !session.importing)
    const known = removed.filter((id) => this.#state.tombstones.has(id))
    this.#watchers.notify(cursor, [...visible.map(({ session }) => session.info.id), ...known])
    return cursor
  }

  #putBlob(bytes: Uint8Array): string {
    this.#open()
    const hash = createHash("sha256").update(bytes).digest("hex")
    this.#blobs.set(hash, { bytes: Uint8Array.from(bytes), time: this.#clock.now() })
    return hash
  }

  #blob(hash: string): Uint8Array {
    this.#open()
    const blob = this.#blobs.get(hash)
    if (blob) return blob.bytes
    throw noBlob(hash)
  }

  /** Removes blobs and returns how many existed. */
  #dropBlobs(hashes: string[]): number {
    return hashes.filter((hash) => this.#blobs.delete(hash)).length
  }
}
