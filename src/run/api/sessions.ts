import {
  type NewSession,
  type PartBody,
  type Session,
  type SessionPatch,
  StemmaError,
  type Tokens,
  version,
} from "../../protocol/index.ts"
import {
  defaultTitle,
  forkPlan,
  type RevertMark,
  type Statistics,
  statistics,
  toRuleset,
} from "../../session/index.ts"
import type {
  Page,
  Redaction,
  RedactionTarget,
  Removal,
  SearchPage,
  SearchQuery,
  SessionQuery,
} from "../../stores/store.ts"
import type { Engine } from "../engine.ts"
import { clearRevert, markRevert, type Reverted } from "../loop/revert.ts"
import { isTitleFromRest } from "../loop/title-source.ts"
import { modelRef, type PromptContent } from "../prompt/prompt.ts"
import { type FileAccess, storedFiles } from "../prompt/prompt-files.ts"
import { type PromptState, promptState } from "../schedule/activity.ts"
import type { Coordinator } from "../schedule/coordinator.ts"
import { findMessage } from "../schedule/waiters.ts"
import { offeredAgent } from "../step/step-plan.ts"
import {
  archiveOptions,
  type CreateOptions,
  type CurrentOptions,
  childrenQuery,
  createOptions,
  currentOptions,
  forkOptions,
  listQuery,
  type NoteOptions,
  noteOptions,
  type RetentionOptions,
  resetOptions,
  retentionOptions,
  revertMark,
  searchQuery,
  shareOptions,
  type UpdateOptions,
  updateOptions,
} from "./arguments/call-options.ts"
import { checkSessionID } from "./arguments/check.ts"
import { findSession } from "./find-session.ts"
import { type PromptRun, sendPrompt } from "./prompt-run.ts"
import { applyRetention, type Expired } from "./retention.ts"
import { SessionHandle } from "./session-handle.ts"
import { type ShareOptions, shareSession, unshareSession } from "./share.ts"
import { readStartFiles } from "./start-files.ts"

export interface SessionStatistics extends Statistics {
  cost: number
  tokens: Tokens
}

const patchesPerCommit = 500

/** Creates, finds, changes and removes the sessions of a store. */
export class Sessions {
  readonly #engine: Engine
  readonly #coordinator: Coordinator
  readonly #directory: string
  readonly #onCreated = new Set<(session: Session) => Promise<void>>()

  constructor(options: { engine: Engine; coordinator: Coordinator; directory: string }) {
    this.#engine = options.engine
    this.#coordinator = options.coordinator
    this.#directory = options.directory
  }

  /**
   * Calls the listener with each new root session, forks included. `create` and `fork` resolve after the listener has. The
   * listener must not throw. The returned function removes it.
   */
  onCreated(listener: (session: Session) => Promise<void>): () => void {
    if (typeof listener !== "function") {
      throw new StemmaError("invalid", "sessions.onCreated: expected a function that takes a session.")
    }
    this.#onCreated.add(listener)
    return () => this.#onCreated.delete(listener)
  }

  /** Creates a session. If a session with the given `id` exists, returns a handle of that session. */
  async create(options: CreateOptions = {}): Promise<SessionHandle> {
    const { store, newID } = this.#engine
    const given = createOptions(options)
    const id = given.id ?? newID("session")
    if (given.id !== undefined && (await findSession(store, id))) return this.#handle(id)
    const session = await this.#newSession(id, given)
    const files = await readStartFiles(given.files ?? [], session.directory)
    try {
      await store.commit({
        ops: [
          { op: "session.create", session, segment: newID("segment") },
          ...files.map((text) => this.#fileOp(session, text)),
        ],
      })
      this.#engine.metrics.sessionCreated("new")
      await this.#tellCreated(id)
    } catch (error) {
      // Another caller created the session with this id at the same time.
      const isMine =
        given.id !== undefined && StemmaError.is(error, "conflict") && (await findSession(store, id))
      if (!isMine) throw error
    }
    return this.#handle(id)
  }

  /** The current session of the project, or the current session with a name. The first call creates it. */
  async current(options: CurrentOptions = {}): Promise<SessionHandle> {
    const { agent, scope } = currentOptions(options)
    const key = await this.#currentKey(scope)
    for (let attempt = 0; ; attempt++) {
      const found = await this.#byKey(key, agent)
      if (found) return this.#handle(found.id)
      try {
        return await this.create({ key, ...(agent !== undefined && { agent }) })
      } catch (error) {
        if (!StemmaError.is(error, "conflict") || attempt > 2) throw error
      }
    }
  }

  /** Starts a new current session under the same name. The old session stays, without the name. */
  async reset(options: CurrentOptions = {}): Promise<SessionHandle> {
    const given = resetOptions(options)
    const found = await this.#byKey(await this.#currentKey(given.scope), given.agent)
    if (found) await this.#patch(found.id, { key: null })
    return this.current(given)
  }

  /** A handle of an existing session. Throws `not_found` for any other id. */
  async get(id: string): Promise<SessionHandle> {
    await this.#engine.store.session(checkSessionID(id, "sessions.get"))
    return this.#handle(id)
  }

  /**
   * Sends a prompt whose shape the caller has checked with the schemas of the protocol, as a server does with each request.
   * Programs call `prompt` of a session handle, which checks its arguments itself.
   */
  send(id: string, content: PromptContent): PromptRun {
    return sendPrompt(this.#coordinator, id, async () => content)
  }

  /** What happens with a prompt: `running` or `waiting`, in any process; undefined if no process will work on it. */
  async promptState(id: string, promptID: string): Promise<PromptState> {
    return promptState(this.#coordinator, {
      sessionID: checkSessionID(id, "sessions.promptState"),
      promptID,
    })
  }

  /** The parts of a message with the bytes of their files stored as blobs. `decide` says which files may be read. */
  async storeFiles(parts: readonly PartBody[], access: FileAccess): Promise<PartBody[]> {
    return storedFiles(parts, { ...access, store: this.#engine.store })
  }

  /** A page of sessions, most recently used first. */
  async list(query: SessionQuery = {}): Promise<Page<Session>> {
    return this.#engine.store.sessions(listQuery(query))
  }

  /** A page of the children of a session. */
  async children(parentID: string, query: Omit<SessionQuery, "parentID"> = {}): Promise<Page<Session>> {
    checkSessionID(parentID, "sessions.children")
    return this.#engine.store.sessions({ ...childrenQuery(query), parentID })
  }

  /** The session and all its descendants, parents before their children. */
  async tree(rootID: string): Promise<Session[]> {
    return this.#engine.store.tree(checkSessionID(rootID, "sessions.tree"))
  }

  /** The ancestors of a session, its parent first. */
  async parents(id: string): Promise<Session[]> {
    return this.#engine.store.parents(checkSessionID(id, "sessions.parents"))
  }

  /** Sets the given fields of a session; `null` removes a field. */
  async update(id: string, fields: UpdateOptions): Promise<Session> {
    checkSessionID(id, "sessions.update")
    const { permission, model, agent, ...rest } = updateOptions(fields)
    if (typeof agent === "string") await this.#checkAgent(id, agent)
    return this.#patch(id, {
      ...rest,
      ...(agent !== undefined && { agent }),
      ...(model !== undefined && { model: model === null ? null : modelRef(model) }),
      ...(permission !== undefined && { permission: permission === null ? null : toRuleset(permission) }),
    })
  }

  /** Makes the session the most recently used one. */
  async touch(id: string): Promise<Session> {
    checkSessionID(id, "sessions.touch")
    const { time } = await this.#engine.store.session(id)
    return this.#patch(id, { time: { updated: Math.max(this.#engine.clock.now(), time.updated) } })
  }

  /** Creates a fork: a new root session that shares the history of another one, whole or up to before `messageID`. */
  async fork(id: string, options: { messageID?: string; title?: string } = {}): Promise<SessionHandle> {
    const { store, newID, clock } = this.#engine
    checkSessionID(id, "sessions.fork")
    const { messageID, title } = forkOptions(options)
    const source = await store.session(id)
    const now = clock.now()
    const forkID = newID("session")
    await store.commit({
      ops: [
        {
          op: "session.fork",
          sourceID: id,
          ...(await this.#forkPlan(source, messageID)),
          session: {
            id: forkID,
            title: title ?? (await this.#forkTitle(source, { messageID, now })),
            version,
            time: { created: now, updated: now },
          },
          segment: newID("segment"),
        },
      ],
    })
    this.#engine.metrics.sessionCreated("fork")
    await this.#tellCreated(forkID)
    return this.#handle(forkID)
  }

  /** Marks a revert to before a message or a part, and restores the files. The next prompt makes the revert real. */
  async revert(id: string, mark: RevertMark): Promise<Reverted> {
    checkSessionID(id, "sessions.revert")
    const given = revertMark(mark)
    return this.#coordinator.exclusive(id, (run) => markRevert(run, given))
  }

  /** Clears a revert mark and restores the files, until a prompt has made the revert real. */
  async unrevert(id: string): Promise<Reverted> {
    checkSessionID(id, "sessions.unrevert")
    return this.#coordinator.exclusive(id, clearRevert)
  }

  /** Shares a session with everybody who knows the secret, if the config allows sharing. Its children are not shared. */
  async share(id: string, options: ShareOptions): Promise<Session> {
    checkSessionID(id, "sessions.share")
    return shareSession(this.#engine, id, shareOptions(options))
  }

  /** Ends sharing: the secret no longer gives access. */
  async unshare(id: string): Promise<Session> {
    return unshareSession(this.#engine, checkSessionID(id, "sessions.unshare"))
  }

  /** Archives a session and all its descendants; `archived: false` brings them back. */
  async archive(id: string, options: { archived?: boolean } = {}): Promise<Session> {
    const { store, clock } = this.#engine
    checkSessionID(id, "sessions.archive")
    const archived = archiveOptions(options).archived === false ? null : clock.now()
    const tree = await store.tree(id)
    for (let at = 0; at < tree.length; at += patchesPerCommit) {
      const some = tree.slice(at, at + patchesPerCommit)
      await store.commit({
        ops: some.map((one) => ({ op: "session.patch", sessionID: one.id, set: { time: { archived } } })),
      })
    }
    return store.session(id)
  }

  /** Aborts the runs of a session and its descendants, removes them all, and reports the messages that forks still share. */
  async remove(id: string): Promise<Removal> {
    const { store } = this.#engine
    checkSessionID(id, "sessions.remove")
    for (const one of await store.tree(id)) this.#coordinator.abort(one.id, "The session was removed.")
    return store.remove(id)
  }

  /** Removes the content of a session, a message or a part for good, in every session that shares it. */
  async redact(target: RedactionTarget): Promise<Redaction> {
    checkSessionID(target?.sessionID, "sessions.redact")
    return this.#engine.store.redact(target)
  }

  /**
   * Stores a note beside a sealed message, such as a remark about one of its parts. The message itself does not change. The
   * newest note of a key counts, and `null` removes it.
   */
  async note(id: string, note: NoteOptions): Promise<void> {
    checkSessionID(id, "sessions.note")
    const { messageID, key, value } = noteOptions(note)
    await this.#engine.store.commit({ ops: [{ op: "note.put", sessionID: id, messageID, key, value }] })
  }

  /**
   * Removes the sessions that the config's `retention` says are old enough: children, and archived sessions with their
   * descendants. With `dryRun`, only lists them.
   */
  async applyRetention(options: RetentionOptions = {}): Promise<Expired[]> {
    const { directory = this.#directory, dryRun = false } = retentionOptions(options)
    return applyRetention({
      engine: this.#engine,
      coordinator: this.#coordinator,
      directory,
      isDryRun: dryRun,
    })
  }

  /** Searches the text, titles and file names of all sessions. */
  async search(query: string | SearchQuery): Promise<SearchPage> {
    return this.#engine.store.search(searchQuery(typeof query === "string" ? { text: query } : query))
  }

  /** Counts of messages and tool calls, with cost and tokens. */
  async stats(id: string): Promise<SessionStatistics> {
    const handle = this.#handle(checkSessionID(id, "sessions.stats"))
    const { cost, tokens } = await handle.info()
    return { ...statistics(await handle.messages()), cost, tokens }
  }

  async #tellCreated(id: string): Promise<void> {
    if (this.#onCreated.size === 0) return
    const session = await this.#engine.store.session(id)
    if (session.parentID !== undefined) return
    for (const listener of this.#onCreated) await listener(session)
  }

  #handle(id: string): SessionHandle {
    return new SessionHandle({ id, engine: this.#engine, coordinator: this.#coordinator })
  }

  async #byKey(key: string, agent: string | undefined): Promise<Session | undefined> {
    const page = await this.#engine.store.sessions({ key, limit: 100 })
    return page.items.find((session) => session.agent === agent)
  }

  async #currentKey(scope: string | undefined): Promise<string> {
    if (scope !== undefined && scope !== "project") return `current:name:${scope}`
    const { loaded } = await (await this.#engine.projects.get(this.#directory)).setup()
    return `current:project:${loaded.project.id}`
  }

  /** A fork without the message that its source's title came from gets a default title. */
  async #forkTitle(
    source: Session,
    { messageID = source.revert?.messageID, now }: { messageID: string | undefined; now: number },
  ): Promise<string> {
    const { store } = this.#engine
    const cut = messageID === undefined ? undefined : await findMessage(store, source.id, messageID)
    const isOfRest = cut !== undefined && (await isTitleFromRest(store, source, { from: cut }))
    return isOfRest ? defaultTitle({ child: false, nowMs: now }) : source.title
  }

  /** Under a revert mark at a part, the fork includes the marked message up to that part. */
  async #forkPlan(source: Session, messageID: string | undefined): Promise<ReturnType<typeof forkPlan>> {
    const { store, newID } = this.#engine
    const cut = messageID === undefined ? {} : { messageID }
    const mark = source.revert
    if (mark?.partID === undefined) return cut
    const wanted = [mark.messageID, ...(messageID === undefined ? [] : [messageID])]
    const found = await Promise.all(wanted.map((one) => findMessage(store, source.id, one)))
    return forkPlan(
      found.filter((item) => item !== undefined),
      { ...cut, mark, newID },
    )
  }

  async #patch(id: string, set: SessionPatch): Promise<Session> {
    await this.#engine.store.commit({ ops: [{ op: "session.patch", sessionID: id, set }] })
    return this.#engine.store.session(id)
  }

  async #checkAgent(id: string, name: string): Promise<void> {
    const { directory } = await this.#engine.store.session(id)
    offeredAgent(await (await this.#engine.projects.get(directory)).setup(), name)
  }

  async #newSession(id: string, options: CreateOptions): Promise<NewSession> {
    const { clock, projects } = this.#engine
    const project = await projects.get(options.directory ?? this.#directory)
    const setup = await project.setup()
    if (options.agent !== undefined) offeredAgent(setup, options.agent)
    const now = clock.now()
    const { key, parentID, agent, model, permission, maxHistory, budget } = options
    return {
      id,
      projectID: setup.loaded.project.id,
      directory: project.directory,
      title: options.title ?? defaultTitle({ child: parentID !== undefined, nowMs: now }),
      version,
      time: { created: now, updated: now },
      ...(key !== undefined && { key }),
      ...(parentID !== undefined && { parentID }),
      ...(agent !== undefined && { agent }),
      ...(model !== undefined && { model: modelRef(model) }),
      ...(permission !== undefined && { permission: toRuleset(permission) }),
      ...(maxHistory !== undefined && { maxHistory }),
      ...(budget !== undefined && { budget }),
    }
  }

  #fileOp(session: NewSession, text: string) {
    const { newID, clock } = this.#engine
    return {
      op: "message.append" as const,
      sessionID: session.id,
      message: {
        id: newID("message"),
        role: "user" as const,
        time: { created: clock.now() },
        agent: session.agent ?? "build",
        model: session.model ?? { providerID: "none", modelID: "none" },
      },
      parts: [{ id: newID("part"), type: "text" as const, text, synthetic: true }],
      sealed: true,
    }
  }
}
