import { createHmac, randomBytes } from "node:crypto"
import { homedir } from "node:os"
import { type HistoryItem, type Session, StemmaError } from "../../../protocol/index.ts"
import type { SharedHeader, SharedMessage, SharePreview } from "../../../protocol/routes/share-shapes.ts"
import type { Setup, Stemma } from "../../../run/index.ts"
import { type Include, sharedHeader, sharedMessage } from "../feed/shared-message.ts"
import type { TitleSource } from "../feed/shared-title.ts"
import { createSharedMask, type MaskTargets, type SharedMask } from "./mask-shared.ts"
import { environmentSecrets } from "./secrets/secret-values.ts"
import { Throttle } from "./throttle.ts"

/** How much masked text the cache holds. */
const cacheUnitsMax = 4 * 1024 * 1024

/** Masks the title and the messages of a session. */
export interface MessageMask {
  /** The same for two masks that hide the same secrets and paths. */
  readonly fingerprint: string
  header(session: Session, options: { include: Include; titleSource: TitleSource | undefined }): SharedHeader
  message(item: HistoryItem, options: { include: Include; epoch: number }): Promise<SharedMessage | undefined>
}

/** Masks the sessions of a directory for readers of a share. */
export class ShareMask implements MessageMask {
  readonly fingerprint: string
  readonly #stemma: Stemma
  readonly #mask: SharedMask
  readonly #throttle: Throttle
  readonly #cache = new Map<string, { message: SharedMessage | undefined; units: number }>()
  #cacheUnits = 0

  constructor(
    stemma: Stemma,
    { mask, throttle, fingerprint }: { mask: SharedMask; throttle: Throttle; fingerprint: string },
  ) {
    this.fingerprint = fingerprint
    this.#stemma = stemma
    this.#mask = mask
    this.#throttle = throttle
  }

  header(
    session: Session,
    { include, titleSource }: { include: Include; titleSource: TitleSource | undefined },
  ): SharedHeader {
    return sharedHeader(session, { include, titleSource, mask: this.#mask })
  }

  /**
   * The public form of a sealed message. `epoch` is the epoch of the history, because a message in the cache is valid
   * only for its epoch. Undefined if no part of the message is public.
   */
  async message(
    item: HistoryItem,
    { include, epoch }: { include: Include; epoch: number },
  ): Promise<SharedMessage | undefined> {
    const { message, position, parts } = item
    const key = JSON.stringify([message.sessionID, epoch, message.id, position, parts.length, include])
    const cached = this.#cache.get(key)
    if (cached) return cached.message
    return this.#throttle.run(async () => {
      // An earlier request for the same message has filled the cache.
      const added = this.#cache.get(key)
      if (added) return added.message
      const shown = await this.#shownMessage(item, { include, mask: this.#mask })
      this.#addToCache(key, shown)
      return shown
    })
  }

  #shownMessage(
    item: HistoryItem,
    options: { include: Include; mask: SharedMask },
  ): Promise<SharedMessage | undefined> {
    const sizeOf = (hash: string) => this.#stemma.reader.blobs.size(hash).catch(() => undefined)
    return sharedMessage(item, { ...options, sizeOf })
  }

  /** The same mask, which adds what it masks to a list. It masks each message anew, without the cache. */
  recorded(masked: SharePreview["masked"]): MessageMask {
    const kindsOf = (kinds: Map<string, number>) => ({
      add: (kind: string) => kinds.set(kind, (kinds.get(kind) ?? 0) + 1),
      list: () => [...kinds].map(([kind, count]) => ({ kind, count })),
    })
    return {
      fingerprint: this.fingerprint,
      header: (session, options) => {
        const header = this.header(session, options)
        const kinds = kindsOf(new Map())
        if (header.title !== session.title) this.#mask([session.title], ({ kind }) => kinds.add(kind))
        masked.push(...kinds.list())
        return header
      },
      message: (item, { include }) =>
        this.#throttle.run(async () => {
          const kinds = kindsOf(new Map())
          const mask: SharedMask = (texts) =>
            // Every second text is the text behind a cut, which is searched but not shown.
            this.#mask(texts, ({ kind, text }) => text % 2 === 0 && kinds.add(kind))
          const shown = await this.#shownMessage(item, { include, mask })
          const { message, position } = item
          masked.push(...kinds.list().map((one) => ({ ...one, messageID: message.id, position })))
          return shown
        }),
    }
  }

  #addToCache(key: string, message: SharedMessage | undefined): void {
    const units = key.length + JSON.stringify(message ?? "").length
    this.#cache.set(key, { message, units })
    this.#cacheUnits += units
    for (const [oldest, { units }] of this.#cache) {
      if (this.#cacheUnits <= cacheUnitsMax) return
      this.#cache.delete(oldest)
      this.#cacheUnits -= units
    }
  }
}

/** The masks in use, each created once per config. */
export class ShareMasks {
  readonly #stemma: Stemma
  readonly #token: string | undefined
  readonly #throttle = new Throttle()
  readonly #masks = new WeakMap<Setup, Map<string, ShareMask>>()
  /** Fingerprints are part of what readers receive. They are keyed, so that they do not confirm a guess of a secret. */
  readonly #fingerprintKey: Buffer | string

  constructor(stemma: Stemma, token: string | undefined) {
    this.#stemma = stemma
    this.#token = token
    this.#fingerprintKey = token ?? randomBytes(32)
  }

  /** Undefined if the config forbids sharing or cannot be read: then the secrets of the directory are not known. */
  async forSession({ directory }: Session): Promise<ShareMask | undefined> {
    const setup = await this.#setup(directory)
    if (setup === undefined || setup.loaded.config.share === "disabled") return undefined
    const masks = this.#masks.get(setup) ?? new Map<string, ShareMask>()
    this.#masks.set(setup, masks)
    const mask = masks.get(directory) ?? this.#create(setup, directory)
    masks.set(directory, mask)
    return mask
  }

  async #setup(directory: string): Promise<Setup | undefined> {
    try {
      return await (await this.#stemma.project(directory)).setup()
    } catch (error) {
      if (StemmaError.is(error)) return undefined
      throw error
    }
  }

  #create({ loaded: { project }, secretsSoFar, environment }: Setup, directory: string): ShareMask {
    const homes = [homedir(), environment.HOME, process.env.HOME].filter((home) => home !== undefined)
    const targets: MaskTargets = {
      values: [
        ...secretsSoFar,
        ...environmentSecrets(environment),
        ...environmentSecrets(process.env),
        ...(this.#token === undefined ? [] : [this.#token]),
      ],
      paths: [
        ...[directory, project.directory, project.root].map((path) => ({ path, text: "." })),
        ...homes.map((path) => ({ path, text: "~" })),
      ],
    }
    const fingerprint = createHmac("sha256", this.#fingerprintKey)
      .update(JSON.stringify(targets))
      .digest("base64url")
    return new ShareMask(this.#stemma, {
      mask: createSharedMask(targets),
      throttle: this.#throttle,
      fingerprint,
    })
  }
}
