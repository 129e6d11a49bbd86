import type {
  HistoryItem,
  InboxItem,
  PermissionRequest,
  Row,
  SearchKind,
  Session,
  Todo,
} from "../protocol/index.ts"
import type { Commit } from "./commit.ts"

/**
 * Where sessions are kept. Every method is async and fails with a StemmaError only:
 * `not_found` (no such session, message, blob), `conflict` (another writer was first: fence, seq, key, lease, offset),
 * `invalid` (the input can never work), `denied` (the file system refuses), `unsupported` (not in this driver),
 * `unavailable` (closed, disk full, or no lock in time: try again), `internal` (stored data is damaged).
 * A failed call has changed nothing.
 *
 * Reads see every commit that was acknowledged to this process before they were called. Strings come back as they
 * were given, but for NUL and lone surrogates, which become U+FFFD.
 */
export interface Store extends AsyncDisposable {
  readonly name: string
  readonly capabilities: Capabilities

  /**
   * Applies the operations of one commit, all or none. On return they survive `kill -9` (where `durable`), and with
   * durability "full" they were synced to disk. Commits of one event loop tick share a transaction; a commit that fails
   * does not affect the others.
   */
  commit(commit: Commit): Promise<Committed>

  /** One session. `not_found` also while it is being imported. */
  session(id: string): Promise<Session>
  /** A page of sessions, by default the most recently updated first. */
  sessions(query?: SessionQuery): Promise<Page<Session>>
  /**
   * The session and all its descendants, in order of creation, so each parent comes before its children. Sessions that
   * are being imported are left out; `not_found` if the session itself is being imported.
   */
  tree(rootID: string): Promise<Session[]>
  /** The ancestors of a session, nearest first; a removed ancestor ends the chain. `not_found` as for `session`. */
  parents(sessionID: string): Promise<Session[]>
  /** A page of messages in order of position, from either end. Includes messages that a revert mark hides. */
  history(sessionID: string, query?: HistoryQuery): Promise<HistoryPage>
  todos(sessionID: string): Promise<Todo[]>
  /**
   * Permission requests in the order in which they were asked: of one session, or of all that are not being imported.
   * `invalid` for a query without `sessionID`, `permissionID` and `open`, because the result would be too large.
   */
  permissions(query: PermissionQuery): Promise<PermissionRequest[]>

  /**
   * The newest version of every row in scope that changed after `since`, in the order of its last change; from the
   * beginning without `since`. A commit is never split, so a page may exceed `limit`. Rows of messages that the session
   * shares with its source are not included: after a `history` row, read the missing messages with `history`.
   * `invalid` for a cursor of another store.
   */
  changes(scope: Scope, since?: string, options?: { limit?: number }): Promise<Changes>
  /** The cursor of this moment: `changes` after it returns later changes. */
  cursor(): Promise<string>
  /**
   * Calls the listener soon (within 100 ms for another process's commit) after commits became visible, with the ids of
   * the sessions they touched. Several commits may share a call; none is missed. Returns a function that stops the
   * calls. An error of the listener is reported as a warning.
   */
  watch(listener: (change: Watched) => void): () => void

  /**
   * Searches text, reasoning, tools, titles and file names of all sessions. Finds every message sealed before the call.
   */
  search(query: SearchQuery): Promise<SearchPage>

  /**
   * Puts an item into a session's inbox; durable on return. Needs no lease. The same id with the same payload is a
   * `duplicate`, also after the item was taken; with another payload it is a `conflict`.
   */
  admit(item: InboxItem): Promise<Admitted>
  /** The items that were admitted and not yet taken, in order of admission. */
  inbox(sessionID: string): Promise<InboxItem[]>

  /**
   * Takes the right to write the session's run. `conflict` with `details.holder` and `details.expiresAt` while another
   * holder has it. An expired lease, or one whose holder is known to be dead, is taken over at once. Each claim has a
   * higher fence than all claims before it.
   */
  claim(sessionID: string): Promise<Lease>
  /** Extends the lease; `conflict` if it was lost. */
  renew(lease: Lease): Promise<Lease>
  /** Gives the lease back; does nothing for a lost lease. */
  release(lease: Lease): Promise<void>

  /**
   * Removes a session, its children, and every message that no other session reaches. Returns what stays and which
   * sessions keep it. Long removals are done in batches: the first batch removes the session, and after a crash
   * `collect` removes the rest.
   */
  remove(sessionID: string): Promise<Removal>
  /** Removes content for good, in every session that shares it: of a part, of a message, or of all messages. */
  redact(target: RedactionTarget): Promise<Redaction>

  readonly blobs: BlobStore

  /** Removes data that nothing refers to: unfinished removals and imports, old blobs. Safe at any time. */
  collect(options?: CollectOptions): Promise<Collected>
  /** Checks for damaged data; an empty list means that none was found. */
  check(): Promise<{ problems: string[] }>
  /** Finishes pending commits and releases all resources. Later calls are `unavailable`. */
  close(): Promise<void>
}

/** What a driver can do. A capability that is false is documented. */
export interface Capabilities {
  /** Data survives the process. */
  durable: boolean
  /** Several processes may open the store at the same time. */
  multiProcess: boolean
  /** A fork shares its source's messages; if false, it copies them. */
  sharesHistory: boolean
  /** Search uses an index; if false, it reads everything. */
  indexedSearch: boolean
}

export interface Committed {
  /** `changes` after this cursor returns the changes after this commit. */
  cursor: string
  version: number
  /** The new `seq` of each session that the commit touched. */
  seq: Record<string, number>
}

export interface Page<T> {
  items: T[]
  /** Pass it as `cursor` for the next page; absent on the last page. */
  next?: string
}

export interface SessionQuery {
  projectID?: string
  directory?: string
  /** `null`: only sessions without a parent. */
  parentID?: string | null
  agent?: string
  key?: string
  /** The secret of the share link; no two sessions have the same. */
  share?: string
  /** true: only archived sessions; false: only sessions that are not archived. */
  archived?: boolean
  /** Bounds on `time.updated`: from (inclusive) and to (exclusive). */
  updated?: { from?: number; to?: number }
  /** A part of the title; upper and lower case are the same. */
  title?: string
  order?: "updated" | "created"
  /** 1 to 1,000; 50 if absent. */
  limit?: number
  cursor?: string
}

export interface PermissionQuery {
  /** `not_found` as for `session`. */
  sessionID?: string
  /** Only requests with this id: one, unless an import made copies. */
  permissionID?: string
  /** true: only unanswered requests. */
  open?: boolean
}

export interface HistoryQuery {
  /** Only positions at or after this one. */
  from?: number
  /** Only positions before this one. */
  to?: number
  /** Only the message with this id. */
  messageID?: string
  /** Only messages with a part of this kind: `prune` is a step-start part with a prune mark. */
  having?: "compaction" | "prune"
  /** Reads a tail that a revert left, with the messages before it. */
  left?: string
  /** Which end the limit counts from; "end" if absent. */
  take?: "start" | "end"
  /** 1 to 1,000; 50 if absent. */
  limit?: number
}

export interface HistoryPage {
  items: HistoryItem[]
  /** How many messages the history has. */
  count: number
  epoch: number
  /** True if the query matches more at the other end. */
  more: boolean
}

export type Scope = { sessionID: string } | { treeID: string } | { directory: string }

export interface Changes {
  rows: Row[]
  cursor: string
  /** True if there may be more after `cursor`. */
  more: boolean
}

export interface Watched {
  cursor: string
  sessions: string[]
}

export interface SearchQuery {
  /** Every word must match; "quoted" text must match as a phrase; `pre*` matches words with that beginning. */
  text: string
  order?: "newest" | "relevance"
  sessionID?: string
  projectID?: string
  directory?: string
  kinds?: SearchKind[]
  /** 1 to 200; 50 if absent. */
  limit?: number
  cursor?: string
}

export interface SearchHit {
  kind: SearchKind
  /** The session that wrote the message or, if that session was removed, a session that still has it. */
  sessionID: string
  /** How many other sessions share the message. */
  forks: number
  /** True if the message is in a tail that a revert of that session left. */
  left?: boolean
  messageID?: string
  partID?: string
  position?: number
  role?: "user" | "assistant"
  /** Text around the first match. `marks` are the matches in it as [start, end) in UTF-16 units. */
  snippet: string
  marks: [number, number][]
}

export interface SearchPage {
  hits: SearchHit[]
  next?: string
}

export interface Admitted {
  duplicate: boolean
  cursor: string
}

/** The process that holds a lease, with enough facts to tell whether it is dead. */
export interface Holder {
  host: string
  bootID: string
  pid: number
  /** When the process started, in the units of the operating system. */
  start: string
  /** Distinguishes two stores of one process. */
  instance: string
}

export interface Lease {
  sessionID: string
  fence: number
  /** By the store's clock. The holder stops earlier, by its own monotonic clock. */
  expiresAt: number
  durationMs: number
}

export interface Removal {
  sessions: string[]
  /** How many messages were removed. */
  messages: number
  /** How many messages stay because other sessions share them, and up to 20 of those sessions. */
  kept: { messages: number; sessions: string[] }
  blobs: number
}

/** A part (with its message), a message, or a whole session. */
export interface RedactionTarget {
  sessionID: string
  messageID?: string
  partID?: string
}

export interface Redaction {
  messages: number
  parts: number
  /** The sessions that share the redacted messages. */
  sessions: string[]
}

export interface BlobStore {
  /** Durable on return. The same bytes have the same hash and are stored once. */
  put(bytes: Uint8Array): Promise<string>
  /** `not_found` if there is none. `range` is [start, end) in bytes. */
  get(hash: string, range?: { start?: number; end?: number }): Promise<Uint8Array>
  size(hash: string): Promise<number>
}

export interface CollectOptions {
  /** Only report what would be removed. */
  dryRun?: boolean
  /** Blobs and imports younger than this may still be in use. One hour and one day if absent. */
  blobAgeMs?: number
  importAgeMs?: number
  signal?: AbortSignal
  onProgress?: (progress: { phase: string; done: number; total: number }) => void
}

export interface Collected {
  messages: number
  sessions: number
  blobs: number
  blobBytes: number
}

/** A lease lasts 10 s. The holder renews it every 3 s, and stops 2 s before its end. */
export const leaseDurationMs = 10_000
