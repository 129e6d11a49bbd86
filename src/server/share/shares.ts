import { randomBytes } from "node:crypto"
import { type Session, StemmaError } from "../../protocol/index.ts"
import type { SharePreview } from "../../protocol/routes/share-shapes.ts"
import type { Stemma } from "../../run/index.ts"
import type { PreviewOptions } from "../http/call.ts"
import { type SharedRange, SharedReader, visibilityKey } from "./feed/read-shared.ts"
import { positionOf, SharedFeed } from "./feed/shared-feed.ts"
import { SharedSource } from "./feed/shared-source.ts"
import { ShareMasks } from "./mask/share-mask.ts"

/** Enough that a link cannot be guessed. */
const secretBytes = 24
/** Limits how many readers follow, and how many requests read, at the same time. */
const readersMax = 1000
const readsMax = 100

export interface SharesOptions {
  stemma: Stemma
  /** The server's own token, which is always masked. */
  token: string | undefined
  publicUrl: () => string
}

/** Sessions that anyone with the link can read. */
export class Shares {
  readonly #options: SharesOptions
  readonly #reader: SharedReader
  readonly #feeds = new Map<string, { feed: SharedFeed; readers: number }>()
  readonly #sharing = new Map<string, Promise<unknown>>()
  #readers = 0
  #reads = 0

  constructor(options: SharesOptions) {
    const { stemma, token } = options
    this.#options = options
    this.#reader = new SharedReader(stemma.reader, new ShareMasks(stemma, token))
  }

  /** Creates the public page of a session. An existing page keeps its link and gets the new options. */
  async share(sessionID: string, include: { reasoning?: boolean; tools?: boolean }): Promise<Session> {
    // One call after the other, because two calls at once would create two links.
    const before = this.#sharing.get(sessionID)
    const sharing = (before ?? Promise.resolve()).catch(() => {}).then(() => this.#share(sessionID, include))
    this.#sharing.set(sessionID, sharing)
    try {
      return await sharing
    } finally {
      if (this.#sharing.get(sessionID) === sharing) this.#sharing.delete(sessionID)
    }
  }

  /** What the page of a session would show, and what is masked. The session need not be shared. */
  async preview(sessionID: string, { reasoning, tools, before }: PreviewOptions): Promise<SharePreview> {
    const { parentID } = await this.#options.stemma.reader.session(sessionID)
    if (parentID !== undefined) throw childIsNotShared(sessionID)
    const include = { reasoning: reasoning === true, tools: tools === true }
    const options = before === undefined ? {} : { before }
    const range = await this.#limited(() => this.#reader.preview(sessionID, include, options))
    if (!range) throw sharingIsForbidden()
    const { header, messages, from, masked } = range
    return { session: header, messages, ...(from > 0 && { earlier: from }), masked }
  }

  /** The newest messages, or the messages before a position. */
  async read(secret: string, options: { before?: number } = {}): Promise<SharedRange> {
    const range = await this.#limited(() => this.#reader.last(secret, options))
    if (range) return range
    throw nothingShared()
  }

  async #limited<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reads >= readsMax) throw tooMany("read")
    this.#reads++
    try {
      return await read()
    } finally {
      this.#reads--
    }
  }

  /** Follows a shared session from a cursor. Call `leave` to stop. */
  async follow(
    secret: string,
    since: string | undefined,
  ): Promise<{ source: SharedSource; leave: () => void }> {
    const found = await this.#reader.find(secret)
    if (!found) throw nothingShared()
    if (this.#readers >= readersMax) throw tooMany("follow")
    const entry = this.#feeds.get(secret) ?? this.#open(secret, found.session.id)
    entry.readers++
    this.#readers++
    const source = new SharedSource(entry.feed, {
      position: positionOf(since),
      key: visibilityKey(secret, found),
    })
    let isOver = false
    const leave = () => {
      if (isOver) return
      isOver = true
      entry.readers--
      this.#readers--
      if (entry.readers === 0) entry.feed.close()
    }
    return { source, leave }
  }

  close(): void {
    for (const { feed } of this.#feeds.values()) feed.close()
  }

  #open(secret: string, sessionID: string): { feed: SharedFeed; readers: number } {
    const feed = new SharedFeed({
      secret,
      sessionID,
      stemma: this.#options.stemma,
      reader: this.#reader,
      onEnd: () => this.#feeds.delete(secret),
    })
    const entry = { feed, readers: 0 }
    this.#feeds.set(secret, entry)
    return entry
  }

  async #share(sessionID: string, include: { reasoning?: boolean; tools?: boolean }): Promise<Session> {
    const { stemma, publicUrl } = this.#options
    const { share } = await stemma.reader.session(sessionID)
    const secret = share?.secret ?? randomBytes(secretBytes).toString("base64url")
    const shown = { reasoning: include.reasoning === true, tools: include.tools === true }
    return stemma.sessions.share(sessionID, {
      url: `${publicUrl()}/share/${secret}`,
      secret,
      include: shown,
    })
  }
}

function tooMany(what: "read" | "follow"): StemmaError {
  return new StemmaError(
    "unavailable",
    `Too many clients ${what} shared sessions at the moment. Try again soon.`,
  )
}

function childIsNotShared(sessionID: string): StemmaError {
  return new StemmaError(
    "invalid",
    `Session ${sessionID} is a child and cannot be shared by itself. Preview the root session of its tree.`,
  )
}

function sharingIsForbidden(): StemmaError {
  return new StemmaError(
    "denied",
    'The config of this project forbids sharing (`share` is "disabled"), or cannot be read.',
  )
}

/** The same error for a wrong link and for a share that was ended. */
export function nothingShared(): StemmaError {
  return new StemmaError(
    "not_found",
    "No session is shared at this address: the link is wrong, or the share was ended.",
  )
}
