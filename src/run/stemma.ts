import type { PendingTrust } from "../config/load.ts"
import type { SessionStatus, StemmaEvent } from "../protocol/index.ts"
import type { Scope, Store } from "../stores/store.ts"
import type { SubscribeOptions, Subscription } from "../stream/hub.ts"
import { EventIterator } from "../stream/subscriber/event-iterator.ts"
import {
  checkDirectory,
  eventsOptions,
  subscribeOptions,
  trustOptions,
} from "./api/arguments/call-options.ts"
import { checkSessionID } from "./api/arguments/check.ts"
import { Permissions } from "./api/permissions.ts"
import { Sessions } from "./api/sessions.ts"
import type { StoreReader } from "./api/store-reader.ts"
import type { Engine } from "./engine.ts"
import type { Project } from "./project.ts"
import type { Coordinator } from "./schedule/coordinator.ts"
import type { MetricsSnapshot } from "./telemetry/metrics.ts"

/** How many of the most recently used sessions are searched for runs that dead processes left. */
const recoveredSessionsMax = 2000

/** An open Stemma: its sessions, their events and their permission questions. `openStemma` returns it. */
export class Stemma implements AsyncDisposable {
  /** Creates, finds, changes and removes sessions. */
  readonly sessions: Sessions
  /** Permission questions and grants. */
  readonly permissions: Permissions
  /** The store itself, for programs that work on it directly. Edges use `reader` and the calls of the engine. */
  readonly store: Store
  /** The store for reading only. */
  readonly reader: StoreReader
  /** The directory that sessions work in unless they name another one. */
  readonly directory: string
  readonly #engine: Engine
  readonly #coordinator: Coordinator
  readonly #closeRest: () => Promise<void>
  readonly #stopRest: () => void
  #closing: Promise<void> | undefined

  constructor(options: {
    engine: Engine
    coordinator: Coordinator
    directory: string
    /** Closes everything that was opened besides the coordinator. */
    closeRest: () => Promise<void>
    /** Aborts what `closeRest` would still wait for. */
    stopRest: () => void
  }) {
    this.#engine = options.engine
    this.#coordinator = options.coordinator
    this.#closeRest = options.closeRest
    this.#stopRest = options.stopRest
    this.store = options.engine.store
    this.reader = options.engine.store
    this.directory = options.directory
    this.sessions = new Sessions(options)
    this.permissions = new Permissions(options)
  }

  /** The events of all sessions, or of the sessions in `scope`, from now on. */
  events(
    options: { scope?: Scope; signal?: AbortSignal } = {},
  ): AsyncIterableIterator<StemmaEvent, undefined> {
    const given = eventsOptions(options)
    return new EventIterator(() => this.#engine.hub.subscribe(given))
  }

  /**
   * Frames of events with cursors: first the events after `since`, then live events. A subscriber that is too slow is closed
   * with a cursor to continue from; runs never wait for a subscriber.
   */
  subscribe(options: SubscribeOptions = {}): Subscription {
    return this.#engine.hub.subscribe(subscribeOptions(options))
  }

  /** The status of a session in this process. */
  status(sessionID: string): SessionStatus {
    return this.#engine.hub.status(checkSessionID(sessionID, "stemma.status"))
  }

  /** The statuses of the sessions that this process is running. */
  statuses(): Map<string, SessionStatus> {
    return this.#engine.hub.statuses()
  }

  /**
   * Resolves when the subscribers of a session have been given everything that a call which has just returned has caused,
   * also that the session is idle again. A server answers its caller then, so that no event comes after the answer.
   */
  async eventsSent(sessionID: string): Promise<void> {
    await this.#coordinator.afterTurn(checkSessionID(sessionID, "stemma.eventsSent"))
    await this.#engine.hub.sent(sessionID)
  }

  /**
   * What trusting a directory's config files, agents, commands and skills would grant; undefined if there is nothing to trust.
   * Show it to a person, then pass its `hash` to `trust`.
   */
  async pendingTrust(directory?: string): Promise<PendingTrust | undefined> {
    return (await this.#project(directory, "stemma.pendingTrust")).source.pending()
  }

  /** Trusts the config files of a project in their present form. A later change of a file ends the trust. */
  async trust(options: { directory?: string; hash?: string } = {}): Promise<void> {
    const { directory, ...rest } = trustOptions(options)
    await (await this.#project(directory, "stemma.trust")).source.trust(rest)
  }

  /** Ends the trust in a project's config files. */
  async untrust(directory?: string): Promise<void> {
    await (await this.#project(directory, "stemma.untrust")).source.untrust()
  }

  /** The problems of the config and the settings that were ignored, one sentence each, with what to do. */
  async notices(directory?: string): Promise<readonly string[]> {
    return (await (await this.#project(directory, "stemma.notices")).setup()).loaded.notices
  }

  /** The config, agents, models and tools of a directory. */
  async project(directory?: string): Promise<Project> {
    return this.#project(directory, "stemma.project")
  }

  /**
   * Continues the runs that dead processes left, now and from now on, as the option `recover` of `openStemma` does from the
   * start. A server calls it once it listens: a process that cannot listen must not call a model.
   */
  recover(): void {
    const engine = this.#engine
    if (engine.recover || this.#closing) return
    engine.recover = true
    engine.background(() => this.#coordinator.recoverAll({ sessions: recoveredSessionsMax }))
  }

  /** Counters of this process since Stemma was opened. */
  metrics(): MetricsSnapshot {
    return this.#engine.metrics.snapshot(this.#coordinator.waiting())
  }

  /**
   * Accepts no more prompts, waits for the runs that are going, and closes everything. A second call while the first one waits
   * interrupts the runs: their messages are sealed as interrupted, and another process can continue them.
   */
  async close(): Promise<void> {
    if (this.#closing) {
      this.#coordinator.stop()
      this.#stopRest()
    }
    this.#closing ??= this.#close()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #project(directory: string | undefined, call: string): Promise<Project> {
    return this.#engine.projects.get(
      directory === undefined ? this.directory : checkDirectory(directory, call),
    )
  }

  async #close(): Promise<void> {
    await this.#coordinator.close()
    await this.#closeRest()
  }
}
