import { type Grant, grantScope } from "../../config/permission/grants.ts"
import { type PermissionReply, type PermissionRequest, StemmaError } from "../../protocol/index.ts"
import { ifFound } from "../../stores/if-found.ts"
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

/** The open permission questions of a session and its descendants, oldest first. */
export async function openQuestions(store: Store, rootID: string): Promise<PermissionRequest[]> {
  await store.session(rootID)
  return among(await store.permissions({ open: true }), ({ sessionID }) => isWithin(store, sessionID, rootID))
}

/** Looks at the ancestors of the asking session: few questions are open at a time, but a session may have many descendants. */
async function isWithin(store: Store, sessionID: string, rootID: string): Promise<boolean> {
  if (sessionID === rootID) return true
  return (await ifFound(store.parents(sessionID)))?.some(({ id }) => id === rootID) ?? false
}

/** The questions whose session passes the test. The test runs once for each session. */
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

function answeredAlready(permissionID: string, reply: PermissionReply | undefined): StemmaError {
  const how = reply === undefined ? "" : `: ${reply}`
  return new StemmaError("conflict", `The question ${permissionID} has already been answered${how}.`)
}

/** Permission questions, their answers, and the grants that `always` answers left. */
export class Permissions {
  readonly #engine: Engine
  readonly #coordinator: Coordinator
  readonly #directory: string

  constructor(options: { engine: Engine; coordinator: Coordinator; directory: string }) {
    this.#engine = options.engine
    this.#coordinator = options.coordinator
    this.#directory = options.directory
  }

  /** Declares that a person can answer questions, until the returned object is disposed. */
  listen(): Disposable {
    return this.#engine.presence.add()
  }

  /**
   * The open questions of a session and its descendants, or of all sessions if `sessionID` is absent, oldest first. With
   * `directory`, only questions of sessions that work in that directory.
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
      async (request) => (await ifFound(store.session(request.sessionID)))?.directory === directory,
    )
  }

  /** A question by its id, from any session, answered or not. */
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
   * Answers a question of a session or of one of its descendants, whichever process asked it. A `reject` ends the run; a
   * `reject` with `feedback` gives the feedback to the model, and the run continues.
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
      // Another answer is in the inbox, and the run has not taken it yet.
      if (StemmaError.is(error, "conflict"))
        throw answeredAlready(permissionID, await this.#firstReply(request))
      throw error
    }
    if (this.#coordinator.isRunning(sessionID) || this.#engine.recover) this.#coordinator.wake(sessionID)
  }

  /** The reply that came first, from the inbox or from the question; undefined if the question is gone. */
  async #firstReply({ id, sessionID }: PermissionRequest): Promise<PermissionReply | undefined> {
    const { store } = this.#engine
    for (const item of await store.inbox(sessionID)) {
      if (item.type === "answer" && item.permissionID === id) return item.reply
    }
    return (await store.permissions({ sessionID, permissionID: id }))[0]?.reply
  }

  /** The grants of a project: what people have allowed with `always`. */
  async granted(options: { directory?: string } = {}): Promise<readonly Grant[]> {
    const { project, scope } = await this.#project(grantedOptions(options).directory)
    return project.grants.list(scope)
  }

  /** Revokes a grant. */
  async revoke(grantID: string, options: { directory?: string } = {}): Promise<void> {
    checkText(grantID, { call: "permissions.revoke", name: "grant id" })
    const { project, scope } = await this.#project(revokeOptions(options).directory)
    await project.grants.remove(scope, grantID)
  }

  /** Open questions are looked up first: finding answered ones costs the store more. */
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
