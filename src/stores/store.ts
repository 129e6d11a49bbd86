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
 * `not_found` (no such session, message, blob), `conflict` (somebody was faster: fence, seq, key, lease, offset),
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
   * durability "full" they were synced to disk. Commits handed in during one turn of the event loop share a
   * transaction; one that fails does not harm the others.
   */
  commit(commit: Commit): Promise<Committed>

  /** One session. `not_found` also while it is being imported. */
  session(id: string): Promise<Session>
  /** A page of sessions, by default the most recently updated first. */
  sessions(query?: SessionQuery): Promise<Page<Session>>
  /**
   * The session and all its descendants, in order of creation and so each parent before its children. Those that are
   * being imported are left out; if the session itself is, it is `not_found`.
   */
  tree(rootID: string): Promise<Session[]>
  /** The ancestors of a session, nearest first; one that is gone ends the chain. `not_found` as for `session`. */
  parents(sessionID: string): Promise<Session[]>
  /** A page of messages in order of position, whichever end it is taken from. Includes what a revert mark hides. */
  history(sessionID: string, query?: HistoryQuery): Promise<HistoryPage>
  todos(sessionID: string): Promise<Todo[]>
  /**
   * Permission requests in the order in which they were asked: of one session, or of all that are not being imported.
   * `invalid` for a query that names no session, no request and not the open ones: all there ever were are too many.
   */
  permissions(query: PermissionQuery): Promise<PermissionRequest[]>

  /**
   * The newest version of every row in scope that changed after `since`, in the order of its last change; from the
   * beginning without `since`. A commit is never cut in two, so a page may exceed `limit`. Rows of messages that the
   * session shares with its source are not among them: after a `history` row, page in what is missing.
   * `invalid` for a cursor of another store.
   */
  changes(scope: Scope, since?: string, options?: { limit?: number }): Promise<Changes>
  /** The cursor of this moment: `changes` after it gives what comes later. */
  cursor(): Promise<string>
  /**
   * Calls back soon (within 100 ms for another process's commit) after commits became visible, with the ids of the
   * sessions they touched. Calls may be merged; none is lost. The function returned ends it. A listener that throws is reported as a warning.
   */
  watch(listener: (change: Watched) => void): () => void

  /** Text, reasoning, tools, titles and file names of all sessions. Everything sealed before the call is found. */
  search(query: SearchQuery): Promise<SearchPage>

  /**
   * Puts an item into a session's inbox; durable on return. Anyone may. The same id with the same payload is the same
   * item, also after it was taken (`duplicate`); with another payload it is `conflict`.
   */
  admit(item: InboxItem): Promise<Admitted>
  /** What was admitted and not yet taken, in order of admission. */
  inbox(sessionID: string): Promise<InboxItem[]>

  /**
   * Takes the right to write the session's run. `conflict` with `details.holder` and `details.expiresAt` while another
   * holds it. A lease that ran out, or whose holder is known to be dead, is taken over at once. Each claim has a higher
   * fence than all before it.
   */
  claim(sessionID: string): Promise<Lease>
  /** Extends the lease; `conflict` if it was lost. */
  renew(lease: Lease): Promise<Lease>
  /** Gives the lease back; a lost one is left alone. */
  release(lease: Lease): Promise<void>

  /**
   * Removes a session, its children, and every message that no other session reaches. Says what stays and for whom.
   * Long removals are done in batches: the session is gone with the first, a crash leaves the rest to `collect`.
   */
  remove(sessionID: string): Promise<Removal>
  /** Takes content away for good, in every session that shares it: of a part, of a message, or of all messages. */
  redact(target: RedactionTarget): Promise<Redaction>

  readonly blobs: BlobStore

  /** Finds what nothing refers to: unfinished removals and imports, old blobs. Safe at any time. */
  collect(options?: CollectOptions): Promise<Collected>
  /** Looks for damage; an empty list is good news. */
  check(): Promise<{ problems: string[] }>
  /** Finishes what was handed in and lets go of everything. Later calls are `unavailable`. */
  close(): Promise<void>
}

/** What a driver can do. A false one is a documented gap, never a surprise. */
export interface Capabilities {
  /** Survives the process. */
  durable: boolean
  /** Several processes may have it open. */
  multiProcess: boolean
  /** A fork shares its source's messages; false: it copies them. */
  sharesHistory: boolean
  /** Search uses an index; false: it reads everything. */
  indexedSearch: boolean
}

export interface Committed {
  /** `changes` after this cursor gives what came after this commit. */
  cursor: string
  version: number
  /** The new `seq` of each session that the commit touched. */
  seq: Record<string, number>
}

export interface Page<T> {
  items: T[]
  /** Give it as `cursor` for the next page; absent on the last one. */
  next?: string
}

export interface SessionQuery {
  projectID?: string
  directory?: string
  /** `null`: only sessions without a parent. */
  parentID?: string | null
  agent?: string
  key?: string
  /** The secret under which it is shared; no two sessions have the same. */
  share?: string
  /** true: only archived ones, false: only others. */
  archived?: boolean
  /** Bounds on `time.updated`: from (inclusive) and to (exclusive). */
  updated?: { from?: number; to?: number }
  /** A piece of the title, in any case. */
  title?: string
  order?: "updated" | "created"
  /** 1 to 1,000; 50 if absent. */
  limit?: number
  cursor?: string
}

export interface PermissionQuery {
  /** `not_found` as for `session`. */
  sessionID?: string
  /** Only requests with this id: one, but for copies that an import has made. */
  permissionID?: string
  /** true: only those that nobody has answered. */
  open?: boolean
}

export interface HistoryQuery {
  /** Only positions at or after it. */
  from?: number
  /** Only positions before it. */
  to?: number
  /** Only the message with this id. */
  messageID?: string
  /** Only messages with such a part: `prune` is a step-start part with a prune mark. */
  having?: "compaction" | "prune"
  /** Reads a tail that a revert left, with what came before it. */
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
  /** Words must all be found; "quoted" text is found as it stands; `pre*` finds what begins so. */
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
  /** The session that wrote it or, if that one is gone, one that still has it. */
  sessionID: string
  /** How many other sessions share the message. */
  forks: number
  /** True if a revert of that session left it behind. */
  left?: boolean
  messageID?: string
  partID?: string
  position?: number
  role?: "user" | "assistant"
  /** Text around the first place, with the places that matched as [start, end) in UTF-16 units. */
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

/** Which process holds a lease; enough to tell that it is dead. */
export interface Holder {
  host: string
  bootID: string
  pid: number
  /** When the process started, as the system counts it. */
  start: string
  /** Tells two stores of one process apart. */
  instance: string
}

export interface Lease {
  sessionID: string
  fence: number
  /** By the store's clock. The holder stops early, by its own monotonic clock. */
  expiresAt: number
  durationMs: number
}

export interface Removal {
  sessions: string[]
  /** How many messages went. */
  messages: number
  /** Messages that stay because other sessions share them, and up to 20 of those sessions. */
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
  /** The sessions that shared what was redacted. */
  sessions: string[]
}

export interface BlobStore {
  /** Durable on return. The same bytes give the same hash and are kept once. */
  put(bytes: Uint8Array): Promise<string>
  /** `not_found` if there is none. `range` is [start, end) in bytes. */
  get(hash: string, range?: { start?: number; end?: number }): Promise<Uint8Array>
  size(hash: string): Promise<number>
}

export interface CollectOptions {
  /** Say what would go, and leave it. */
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

/** Leases: 10 s, renewed every 3 s; the holder stops 2 s before the end. */
export const leaseDurationMs = 10_000
