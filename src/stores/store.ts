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
 * The port that every store driver implements. It keeps sessions, their histories and everything around them.
 *
 * Every method except `watch` is async. Methods fail only with a StemmaError, whose codes mean the same everywhere:
 * - `not_found`: the session, message, part, inbox item or blob does not exist
 * - `conflict`: another writer was first (fence, seq, id, key, lease, offset); read again, then retry or stop
 * - `invalid`: the input can never work
 * - `denied`: the file system refuses access, or the store was opened read-only
 * - `unsupported`: this driver does not support the request, or a newer version wrote the data
 * - `unavailable`: the store is closed, the disk is full, or a lock was not free in time; retry later
 * - `internal`: stored data is damaged
 *
 * A call that fails has changed nothing, so it is safe to retry. A call whose answer was lost, because the process
 * died, may have changed something: `admit`, `release`, `redact`, `collect` and `blobs.put` are idempotent and safe to
 * repeat; for `commit`, use `expectSeq` or read first.
 *
 * A read sees every commit that was acknowledged to this process before the read was called. Values that a caller
 * passes in or gets back are copies. Strings come back unchanged, except that NUL and lone surrogates become U+FFFD.
 */
export interface Store extends AsyncDisposable {
  /** The name of the driver, such as "sqlite". */
  readonly name: string
  readonly capabilities: Capabilities
  /**
   * True while commits may have to wait for the driver's own work, such as a checkpoint. A driver sets it 100 ms before
   * commits begin to wait, so that a run can commit the text that it has sent to subscribers. Absent: commits never wait.
   */
  readonly delaysCommits?: boolean

  /**
   * Applies the operations of one commit in order, all or none.
   *
   * On return, the commit survives `kill -9` if `capabilities.durable`; with durability "full" it was synced to disk
   * and survives a power failure. Commits that are submitted in one event loop tick share a transaction and are applied
   * in the order of the calls; a commit that fails does not affect the others.
   *
   * Not idempotent: a repeated commit is applied again. `invalid` for a malformed commit. `conflict` for a lost lease,
   * a missing fence or another `expectSeq`. Each operation names its own errors in commit.ts.
   */
  commit(commit: Commit): Promise<Committed>

  /**
   * Returns one session. `not_found` if it does not exist, was removed, or is still being imported. All other reads of
   * a session use the same rule.
   */
  session(id: string): Promise<Session>
  /**
   * Returns a page of sessions, the most recently updated first by default. Sessions that are being imported are not
   * listed. `invalid` for a limit outside its range or a cursor of another listing.
   */
  sessions(query?: SessionQuery): Promise<Page<Session>>
  /**
   * Returns the session and all its descendants in order of creation, so each parent comes before its children.
   * Descendants that are being imported are left out. `not_found` as for `session`.
   */
  tree(rootID: string): Promise<Session[]>
  /**
   * Returns the ancestors of a session, nearest first. The chain ends at an ancestor that was removed. `not_found` as
   * for `session`.
   */
  parents(sessionID: string): Promise<Session[]>
  /**
   * Returns a page of messages in order of position, whichever end the page is taken from. Includes messages that a
   * revert mark hides and the open message. `not_found` for an unknown session, message or left tail; `invalid` for a
   * limit outside its range or a bound that is not a position.
   */
  history(sessionID: string, query?: HistoryQuery): Promise<HistoryPage>
  /** Returns the todos of a session. `not_found` as for `session`. */
  todos(sessionID: string): Promise<Todo[]>
  /**
   * Returns permission requests in the order in which they were asked: of one session, with one id, or all open
   * requests of all visible sessions. `invalid` for a query that names neither a session nor a request nor `open`,
   * because the result would have no bound.
   */
  permissions(query: PermissionQuery): Promise<PermissionRequest[]>

  /**
   * Returns the newest version of every row in scope that changed after `since`, in the order of the last changes.
   * Without `since`, starts from the beginning. A page never ends in the middle of a commit, so a page may exceed
   * `limit`. Rows of messages that a fork shares with its source are not included: after a `history` row, read the
   * missing messages with `history`.
   *
   * Repeating a call is safe: applying the same rows again gives the same state. `not_found` if the session that the
   * scope names never existed; a removed session is remembered for 30 days and shows as a `removed` row. `invalid` for
   * a cursor of another store.
   */
  changes(scope: Scope, since?: string, options?: { limit?: number }): Promise<Changes>
  /** Returns the cursor of this moment: `changes` after it returns only later changes. */
  cursor(): Promise<string>
  /**
   * Calls `listener` soon after commits became visible (within 100 ms for a commit of another process), with the ids of
   * the sessions that changed. Several commits may be merged into one call; no commit is lost. An error of a listener
   * is emitted as a process warning. Returns a function that ends the watch. Throws `unavailable` if the store is
   * closed.
   */
  watch(listener: (change: Watched) => void): () => void

  /**
   * Searches text, reasoning, tool input and output, titles and file names of all visible sessions. Finds everything
   * that was sealed before the call. `invalid` for a query without a word, a limit outside its range or a cursor of
   * another query.
   */
  search(query: SearchQuery): Promise<SearchPage>

  /**
   * Admits an item to a session's inbox. Any process may call it, with or without a lease. Durable on return, as a
   * commit.
   *
   * Idempotent: the same id with the same payload is the same item, also after a run has taken it (`duplicate: true`).
   * A taken item is remembered for one day. `conflict` for the same id with another payload; `not_found` as for
   * `session`; `invalid` for a malformed item.
   */
  admit(item: InboxItem): Promise<Admitted>
  /** Returns the admitted items that no run has taken yet, in order of admission. `not_found` as for `session`. */
  inbox(sessionID: string): Promise<InboxItem[]>

  /**
   * Claims the lease on a session, which is the right to write its run. Each claim gets a higher fence than all earlier
   * claims. Takes over an expired lease, and the lease of a process that is known to be dead. A lease that seems to end
   * later than its whole duration from now, because a clock was set, counts as expired once it was not renewed for one
   * duration of the monotonic clock, counted from the first call that found it. Durable on return.
   *
   * Not idempotent: `conflict` with `details.holder` and `details.expiresAt` while any live process holds the lease,
   * including this process. `not_found` as for `session`.
   */
  claim(sessionID: string): Promise<Lease>
  /**
   * Extends a lease from now by its full duration, with the same fence. `conflict` if the lease expired or another
   * process claimed the session. `not_found` if the session was removed.
   */
  renew(lease: Lease): Promise<Lease>
  /**
   * Gives a lease back, so that any process may claim the session at once. Idempotent: a lost lease and a removed
   * session are ignored.
   */
  release(lease: Lease): Promise<void>

  /**
   * Removes a session, its descendants, and every message that no other session reaches. Returns what was removed and
   * which messages stay for which sessions. An import that was never published can be removed too.
   *
   * Durable on return. A long removal runs in batches: after the first batch the sessions are invisible, and if the
   * process dies then, `collect` removes the rest. `not_found` if there is no such session, also when it was removed
   * before.
   */
  remove(sessionID: string): Promise<Removal>
  /**
   * Removes content for good, in every session that shares it: of a part, of a message, or of everything a session
   * reaches. Positions, ids and roles stay. The epoch of every session that shares the content grows.
   *
   * Durable on return. Idempotent: redacting redacted content is not an error. `conflict` while a target message is
   * open, and for a whole session while its inbox has items or another process holds its lease. `not_found` for an
   * unknown session, message or part. `invalid` for a part without its message.
   */
  redact(target: RedactionTarget): Promise<Redaction>

  readonly blobs: BlobStore

  /**
   * Frees what nothing refers to: the rest of interrupted removals, abandoned imports, old unreferenced blobs, and
   * expired records of removed sessions and taken inbox items. Safe to call at any time and to repeat. If `signal`
   * aborts it, finished work stays finished.
   */
  collect(options?: CollectOptions): Promise<Collected>
  /** Checks the stored data and returns one sentence for each problem. An empty list means that no damage was found. */
  check(): Promise<{ problems: string[] }>
  /**
   * Finishes submitted work, then releases all files, threads and timers. Idempotent. Later calls are `unavailable`.
   */
  close(): Promise<void>
}

/** What a driver supports. Callers and tests read these flags instead of the driver's name. */
export interface Capabilities {
  /** The data survives the end of the process. */
  durable: boolean
  /** Several processes may open the same store at the same time. */
  multiProcess: boolean
  /** A fork shares the stored messages of its source. False: a fork copies them. */
  sharesHistory: boolean
  /** Search uses an index. False: every search reads all messages. */
  indexedSearch: boolean
}

export interface Committed {
  /** `changes` after this cursor returns what came after this commit. */
  cursor: string
  /** The store-wide version of this commit. Versions grow in the order in which commits become visible. */
  version: number
  /** The new `seq` of each session that the commit changed. */
  seq: Record<string, number>
}

export interface Page<T> {
  items: T[]
  /** Pass it as `cursor` to get the next page. Absent on the last page. */
  next?: string
}

export interface SessionQuery {
  projectID?: string
  directory?: string
  /** `null`: only sessions without a parent. */
  parentID?: string | null
  agent?: string
  key?: string
  /** Only the session that is shared under this secret. No two sessions have the same secret. */
  share?: string
  /** True: only archived sessions. False: only sessions that are not archived. */
  archived?: boolean
  /** Bounds on `time.updated`: from (inclusive) and to (exclusive). */
  updated?: { from?: number; to?: number }
  /** A substring of the title, ignoring case. */
  title?: string
  order?: "updated" | "created"
  /** 1 to 1,000; 50 if absent. */
  limit?: number
  cursor?: string
}

export interface PermissionQuery {
  /** `not_found` as for `session`. */
  sessionID?: string
  /** Only requests with this id. An import may have made copies with the same id in other sessions. */
  permissionID?: string
  /** True: only requests without a reply. */
  open?: boolean
}

export interface HistoryQuery {
  /** Only positions at or after this position. */
  from?: number
  /** Only positions before this position. */
  to?: number
  /** Only the message with this id. */
  messageID?: string
  /** Only messages with a compaction part, or with a step-start part that has a prune mark. */
  having?: "compaction" | "prune"
  /** Reads a left tail, named by its segment, together with the messages before it. */
  left?: string
  /** The end of the range that the page is taken from. "end" if absent. */
  take?: "start" | "end"
  /** 1 to 1,000; 50 if absent. */
  limit?: number
}

export interface HistoryPage {
  items: HistoryItem[]
  /** How many messages the whole history has. */
  count: number
  epoch: number
  /** True if more messages match the query on the other side of the page. */
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
  /** The ids of the sessions that changed. */
  sessions: string[]
}

export interface SearchQuery {
  /** All words must occur. Text in "double quotes" must occur literally. `pre*` matches words that begin with `pre`. */
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
  /**
   * The session that wrote the message, or another session that has it if that session was removed or is filtered out.
   */
  sessionID: string
  /** How many other sessions have the message too. */
  forks: number
  /** True if the message is only in a left tail of that session. */
  left?: boolean
  messageID?: string
  partID?: string
  position?: number
  role?: "user" | "assistant"
  /** Text around the first match. `marks` are the matches in the snippet as [start, end) in UTF-16 units. */
  snippet: string
  marks: [number, number][]
}

export interface SearchPage {
  hits: SearchHit[]
  next?: string
}

export interface Admitted {
  /** True if the same item was admitted before. Nothing changed then. */
  duplicate: boolean
  cursor: string
}

/** The process that holds a lease, with enough facts to tell that the process is dead. */
export interface Holder {
  host: string
  /**
   * Names the boot of the machine and the PID namespace, so that a pid of an earlier boot or another container is not
   * mistaken for this process.
   */
  bootID: string
  pid: number
  /**
   * The start time of the process as the operating system reports it, so that a reused pid is recognised. Empty if
   * unknown.
   */
  start: string
  /** Distinguishes two open stores of one process. */
  instance: string
}

export interface Lease {
  sessionID: string
  /** Grows with each claim. A commit with an older fence is refused. */
  fence: number
  /** By the store's clock. The holder must stop earlier, by its own monotonic clock, because the clocks may differ. */
  expiresAt: number
  durationMs: number
}

export interface Removal {
  /** The ids of the session and its removed descendants. */
  sessions: string[]
  /** How many messages were removed. */
  messages: number
  /** How many messages stay because other sessions share them, and up to 20 of those sessions in order of creation. */
  kept: { messages: number; sessions: string[] }
  blobs: number
}

/** A part with its message, a message, or a whole session. */
export interface RedactionTarget {
  sessionID: string
  messageID?: string
  partID?: string
}

export interface Redaction {
  messages: number
  parts: number
  /** All sessions that had the redacted content. */
  sessions: string[]
}

export interface BlobStore {
  /**
   * Stores bytes and returns their SHA-256 in hex. On return the bytes are synced to disk if `capabilities.durable`.
   * Idempotent: the same bytes are stored once. `unavailable` if they cannot be written. A blob that nothing refers to
   * stays for at least the `blobAgeMs` of `collect`.
   */
  put(bytes: Uint8Array): Promise<string>
  /**
   * Returns the bytes of a blob. `range` is [start, end) in bytes from 0 on; a range beyond the end is cut. `not_found`
   * if there is no such blob.
   */
  get(hash: string, range?: { start?: number; end?: number }): Promise<Uint8Array>
  /** Returns the size in bytes. `not_found` if there is no such blob. */
  size(hash: string): Promise<number>
}

export interface CollectOptions {
  /** Count what would be removed, and remove nothing. */
  dryRun?: boolean
  /** Blobs and imports younger than these ages may still be in use and stay. One hour and one day if absent. */
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

/** How long a lease lasts. The holder renews it every 3 s and stops 2 s before it ends. */
export const leaseDurationMs = 10_000
