import { randomBytes } from "node:crypto"
import { type Session, StemmaError } from "../../protocol/index.ts"
import type { Stemma } from "../../run/index.ts"
import { keyOf, SharedReader, type SharedStretch } from "./feed/read-shared.ts"
import { placeOf, SharedFeed } from "./feed/shared-feed.ts"
import { SharedSource } from "./feed/shared-source.ts"
import { ShareMasks } from "./mask/share-mask.ts"

/** More than an address can be guessed by. */
const secretBytes = 24
/** Everybody may read, but not everybody at once. */
const readersMax = 1000
const readsMax = 100

export interface SharesOptions {
  stemma: Stemma
  /** The server's own; never shown. */
  token: string | undefined
  publicUrl: () => string
  /** Whether anybody could come to that address. */
  isReachable: () => boolean
  onWarning: (error: unknown) => void
}

/** Sessions that everybody may read who knows the address. */
export class Shares {
  readonly #options: SharesOptions
  readonly #reader: SharedReader
  readonly #feeds = new Map<string, { feed: SharedFeed; readers: number }>()
  readonly #sharing = new Map<string, Promise<unknown>>()
  readonly #stopListening: () => void
  #readers = 0
  #reads = 0

  constructor(options: SharesOptions) {
    const { stemma, token } = options
    this.#options = options
    this.#reader = new SharedReader(stemma.reader, new ShareMasks(stemma, token))
    this.#stopListening = stemma.sessions.onCreated((session) => this.#shareNew(session))
  }

  /** Makes a public page of a session. One that is there keeps its address and shows what is asked for now. */
  async share(sessionID: string, include: { reasoning?: boolean; tools?: boolean }): Promise<Session> {
    // One after the other: each of two callers at once would make an address of its own.
    const before = this.#sharing.get(sessionID)
    const sharing = (before ?? Promise.resolve()).catch(() => {}).then(() => this.#share(sessionID, include))
    this.#sharing.set(sessionID, sharing)
    try {
      return await sharing
    } finally {
      if (this.#sharing.get(sessionID) === sharing) this.#sharing.delete(sessionID)
    }
  }

  /** What is shown now: the newest, or what came before a position. */
  async read(secret: string, options: { before?: number } = {}): Promise<SharedStretch> {
    if (this.#reads >= readsMax) throw tooMany("read")
    this.#reads++
    try {
      const stretch = await this.#reader.last(secret, options)
      if (stretch) return stretch
      throw nothingShared()
    } finally {
      this.#reads--
    }
  }

  /** Follows a shared session from a cursor on. Leave it with `leave`. */
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
    const source = new SharedSource(entry.feed, { location: placeOf(since), key: keyOf(secret, found) })
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
    this.#stopListening()
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

  /** With `share: "auto"`. Whoever makes a session is not kept from it by a page that could not be made. */
  async #shareNew(session: Session): Promise<void> {
    const { stemma, isReachable, onWarning } = this.#options
    if (!isReachable()) return
    try {
      const { loaded } = await (await stemma.project(session.directory)).setup()
      if (loaded.config.share === "auto") await this.share(session.id, {})
    } catch (error) {
      onWarning(error)
    }
  }
}

function tooMany(what: "read" | "follow"): StemmaError {
  return new StemmaError("unavailable", `Too many ${what} shared sessions just now. Try again soon.`)
}

/** The same for an address that never was and for one that was ended. */
export function nothingShared(): StemmaError {
  return new StemmaError("not_found", "Nothing is shared here: the address is wrong, or sharing was ended.")
}
