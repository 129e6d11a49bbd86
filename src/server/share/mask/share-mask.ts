import { createHmac, randomBytes } from "node:crypto"
import { homedir } from "node:os"
import { type HistoryItem, type Session, StemmaError } from "../../../protocol/index.ts"
import type { Setup, Stemma } from "../../../run/index.ts"
import { type Include, shownHeader, shownMessage } from "../feed/shown-message.ts"
import type { Namesake } from "../feed/shown-title.ts"
import type { SharedHeader, SharedMessage } from "../shapes.ts"
import { createSharedMask, type Hidden, type SharedMask } from "./mask-shared.ts"
import { environmentSecrets } from "./secret-values.ts"
import { Throttle } from "./throttle.ts"

/** How much text is kept that was looked through already. */
const keptUnitsMax = 4 * 1024 * 1024

/** What stands between the sessions of a directory and everybody. */
export class ShareMask {
  /** The same for curtains that hide the same. */
  readonly mark: string
  readonly #stemma: Stemma
  readonly #mask: SharedMask
  readonly #throttle: Throttle
  readonly #kept = new Map<string, { message: SharedMessage | undefined; units: number }>()
  #keptUnits = 0

  constructor(
    stemma: Stemma,
    { mask, throttle, mark }: { mask: SharedMask; throttle: Throttle; mark: string },
  ) {
    this.mark = mark
    this.#stemma = stemma
    this.#mask = mask
    this.#throttle = throttle
  }

  header(
    session: Session,
    { include, namesake }: { include: Include; namesake: Namesake | undefined },
  ): SharedHeader {
    return shownHeader(session, { include, namesake, mask: this.#mask })
  }

  /**
   * A sealed message of the history as it was in that epoch: only then is it the same as the one that was kept. Undefined if
   * nothing of it is to be seen.
   */
  async message(
    item: HistoryItem,
    { include, epoch }: { include: Include; epoch: number },
  ): Promise<SharedMessage | undefined> {
    const { message, position, parts } = item
    const key = JSON.stringify([message.sessionID, epoch, message.id, position, parts.length, include])
    const kept = this.#kept.get(key)
    if (kept) return kept.message
    return this.#throttle.run(async () => {
      // Somebody who asked for the same was before.
      const made = this.#kept.get(key)
      if (made) return made.message
      const shown = await shownMessage(item, {
        include,
        mask: this.#mask,
        sizeOf: (hash) => this.#stemma.reader.blobs.size(hash).catch(() => undefined),
      })
      this.#keep(key, shown)
      return shown
    })
  }

  #keep(key: string, message: SharedMessage | undefined): void {
    const units = key.length + JSON.stringify(message ?? "").length
    this.#kept.set(key, { message, units })
    this.#keptUnits += units
    for (const [oldest, { units }] of this.#kept) {
      if (this.#keptUnits <= keptUnitsMax) return
      this.#kept.delete(oldest)
      this.#keptUnits -= units
    }
  }
}

/** The curtains that are in use, each made once for a config as it is. */
export class ShareMasks {
  readonly #stemma: Stemma
  readonly #token: string | undefined
  readonly #throttle = new Throttle()
  readonly #made = new WeakMap<Setup, Map<string, ShareMask>>()
  /** Marks are part of what everybody is given, and must not tell whether a guess at a secret is right. */
  readonly #markKey: Buffer | string

  constructor(stemma: Stemma, token: string | undefined) {
    this.#stemma = stemma
    this.#token = token
    this.#markKey = token ?? randomBytes(32)
  }

  /** Undefined if the config forbids sharing by now, or cannot be read: nobody knows then what is secret there. */
  async of({ directory }: Session): Promise<ShareMask | undefined> {
    const setup = await this.#setup(directory)
    if (setup === undefined || setup.loaded.config.share === "disabled") return undefined
    const made = this.#made.get(setup) ?? new Map<string, ShareMask>()
    this.#made.set(setup, made)
    const mask = made.get(directory) ?? this.#create(setup, directory)
    made.set(directory, mask)
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
    const hidden: Hidden = {
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
    const mark = createHmac("sha256", this.#markKey).update(JSON.stringify(hidden)).digest("base64url")
    return new ShareMask(this.#stemma, { mask: createSharedMask(hidden), throttle: this.#throttle, mark })
  }
}
