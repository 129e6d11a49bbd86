import { type Grant, grantScope } from "../../config/permission/grants.ts"
import { type PermissionReply, type PermissionRequest, StemmaError } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"
import type { Engine } from "../engine.ts"
import type { Coordinator } from "../schedule/coordinator.ts"
import {
  checkText,
  grantedOptions,
  openOptions,
  replyAnswer,
  revokeOptions,
} from "./arguments/call-options.ts"
import { checkPermissionID, checkSessionID } from "./arguments/check.ts"

/** The open questions of a session and of those below it, in the order in which they were asked. */
export async function openQuestions(store: Store, rootID: string): Promise<PermissionRequest[]> {
  await store.session(rootID)
  return among(await store.permissions({ open: true }), ({ sessionID }) => isWithin(store, sessionID, rootID))
}

/** Few questions are open at a time, and many sessions may be below one: so it is looked upwards. */
async function isWithin(store: Store, sessionID: string, rootID: string): Promise<boolean> {
  if (sessionID === rootID) return true
  return (await orGone(store.parents(sessionID)))?.some(({ id }) => id === rootID) ?? false
}

/** Those of the questions whose session passes; each session is looked at once. */
async function among(
  requests: readonly PermissionRequest[],
  passes: (request: PermissionRequest) => Promise<boolean>,
): Promise<PermissionRequest[]> {
  const known = new Map<string, Promise<boolean>>()
  const found = requests.map(async (request) => {
    const { sessionID } = request
    const passing = known.get(sessionID) ?? passes(request)
    known.set(sessionID, passing)
    return (await passing) ? [request] : []
  })
  return (await Promise.all(found)).flat()
}

/** What belongs to a session, or undefined if that was removed in between. */
async function orGone<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error: unknown) => {
    if (StemmaError.is(error, "not_found")) return undefined
    throw error
  })
}

function answeredAlready(permissionID: string, reply: PermissionReply | undefined): StemmaError {
  const how = reply === undefined ? "" : `: ${reply}`
  return new StemmaError("conflict", `The question ${permissionID} was answered already${how}.`)
}

/** Questions to people and what they have allowed for good. */
export class Permissions {
  readonly #engine: Engine
  readonly #coordinator: Coordinator
  readonly #directory: string

  constructor(options: { engine: Engine; coordinator: Coordinator; directory: string }) {
    this.#engine = options.engine
    this.#coordinator = options.coordinator
    this.#directory = options.directory
  }

  /** Says that a person is there to be asked, until the result is disposed of. */
  listen(): Disposable {
    return this.#engine.presence.add()
  }

  /**
   * The open questions of a session and of those below it or, without one, of all sessions; `directory` leaves out those of
   * sessions that work elsewhere. In the order in which they were asked.
   */
  async open(sessionID?: string, options: { directory?: string } = {}): Promise<PermissionRequest[]> {
    const { store } = this.#engine
    if (sessionID !== undefined) checkSessionID(sessionID, "permissions.open")
    const { directory } = openOptions(options)
    const asked =
      sessionID === undefined
        ? await store.permissions({ open: true })
        : await openQuestions(store, sessionID)
    if (directory === undefined) return asked
    return among(
      asked,
      async (request) => (await orGone(store.session(request.sessionID)))?.directory === directory,
    )
  }

  /** A question by its id, whichever session asked it; answered ones too. */
  async find(permissionID: string): Promise<PermissionRequest> {
    const [request] = await this.#named(checkPermissionID(permissionID, "permissions.find"))
    if (request) return request
    throw new StemmaError(
      "not_found",
      `There is no question ${permissionID}. Check the id, or list the open questions.`,
      { details: { permissionID } },
    )
  }

  /**
   * Answers a question of a session, or of one below it, whichever process asked it. `feedback` with a reject lets the run go
   * on.
   */
  async reply(
    rootID: string,
    permissionID: string,
    answer: { reply: PermissionReply; feedback?: string },
  ): Promise<void> {
    const { store, clock } = this.#engine
    checkSessionID(rootID, "permissions.reply")
    checkPermissionID(permissionID, "permissions.reply")
    const given = replyAnswer(answer)
    const [request] = await among(await this.#named(permissionID), ({ sessionID }) =>
      isWithin(store, sessionID, rootID),
    )
    if (!request) {
      await store.session(rootID)
      throw new StemmaError("not_found", `Session ${rootID} has no question ${permissionID}.`)
    }
    const { sessionID } = request
    if (request.reply !== undefined) throw answeredAlready(permissionID, request.reply)
    const id = `answer_${permissionID}`
    const time = clock.now()
    try {
      await store.admit({ id, sessionID, type: "answer", time, permissionID, ...given })
    } catch (error) {
      // Another answer came first, and may not have reached the question yet.
      if (StemmaError.is(error, "conflict"))
        throw answeredAlready(permissionID, await this.#firstReply(request))
      throw error
    }
    if (this.#coordinator.isRunning(sessionID) || this.#engine.recover) this.#coordinator.wake(sessionID)
  }

  /** What was answered, be it on its way still; undefined if nobody can say any more. */
  async #firstReply({ id, sessionID }: PermissionRequest): Promise<PermissionReply | undefined> {
    const { store } = this.#engine
    for (const item of await store.inbox(sessionID)) {
      if (item.type === "answer" && item.permissionID === id) return item.reply
    }
    return (await store.permissions({ sessionID, permissionID: id }))[0]?.reply
  }

  /** What a person has allowed for good in a project. */
  async granted(options: { directory?: string } = {}): Promise<readonly Grant[]> {
    const { project, scope } = await this.#project(grantedOptions(options).directory)
    return project.grants.list(scope)
  }

  /** Takes such an answer back. */
  async revoke(grantID: string, options: { directory?: string } = {}): Promise<void> {
    checkText(grantID, { call: "permissions.revoke", name: "grant id" })
    const { project, scope } = await this.#project(revokeOptions(options).directory)
    await project.grants.remove(scope, grantID)
  }

  /** The open ones, else those that were answered: those are looked for in more places. */
  async #named(permissionID: string): Promise<PermissionRequest[]> {
    const { store } = this.#engine
    const open = await store.permissions({ permissionID, open: true })
    return open.length > 0 ? open : store.permissions({ permissionID })
  }

  async #project(directory = this.#directory) {
    const project = await this.#engine.projects.get(directory)
    const { loaded } = await project.setup()
    return { project, scope: grantScope(loaded.project) }
  }
}
