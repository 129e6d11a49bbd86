import type { Session } from "../../protocol/index.ts"
import type { Stemma } from "../../run/index.ts"

export interface AutoShareOptions {
  stemma: Stemma
  /** Whether clients can reach the address of shared sessions. */
  isReachable: () => boolean
  share: (sessionID: string) => Promise<unknown>
  onWarning: (error: unknown) => void
}

/** Shares each new session if the config says `share: "auto"`. */
export class AutoShare {
  readonly #options: AutoShareOptions
  readonly #unsubscribe: () => void

  constructor(options: AutoShareOptions) {
    this.#options = options
    this.#unsubscribe = options.stemma.sessions.onCreated((session) => this.#shareNew(session))
  }

  close(): void {
    this.#unsubscribe()
  }

  /** A failure is only a warning and does not stop the creation. */
  async #shareNew(session: Session): Promise<void> {
    const { stemma, isReachable, share, onWarning } = this.#options
    if (!isReachable()) return
    try {
      const { loaded } = await (await stemma.project(session.directory)).setup()
      if (loaded.config.share === "auto") await share(session.id)
    } catch (error) {
      onWarning(error)
    }
  }
}
