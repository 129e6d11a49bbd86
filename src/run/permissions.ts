import { type Grant, grantScope } from "../config/grants.ts"
import { type PermissionReply, type PermissionRequest, StemmaError } from "../protocol/index.ts"
import { checkText, grantedOptions, replyAnswer, revokeOptions } from "./arguments.ts"
import { checkPermissionID, checkSessionID } from "./check-argument.ts"
import type { Coordinator } from "./coordinator.ts"
import type { Engine } from "./engine.ts"

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
    return this.#engine.listeners.add()
  }

  /** The open questions of a session. */
  async open(sessionID: string): Promise<PermissionRequest[]> {
    checkSessionID(sessionID, "permissions.open")
    return this.#engine.store.permissions({ sessionID, open: true })
  }

  /** Answers a question, whichever process asked it. `feedback` with a reject lets the run go on. */
  async reply(
    sessionID: string,
    permissionID: string,
    answer: { reply: PermissionReply; feedback?: string },
  ): Promise<void> {
    const { store, clock } = this.#engine
    checkSessionID(sessionID, "permissions.reply")
    checkPermissionID(permissionID, "permissions.reply")
    const given = replyAnswer(answer)
    const requests = await store.permissions({ sessionID })
    const request = requests.find(({ id }) => id === permissionID)
    if (!request) {
      throw new StemmaError("not_found", `Session ${sessionID} has no question ${permissionID}.`)
    }
    if (request.reply !== undefined) {
      throw new StemmaError(
        "conflict",
        `The question ${permissionID} was answered already: ${request.reply}.`,
      )
    }
    await store.admit({
      id: `answer_${permissionID}`,
      sessionID,
      type: "answer",
      time: clock.now(),
      permissionID,
      ...given,
    })
    if (this.#coordinator.isRunning(sessionID) || this.#engine.recover) this.#coordinator.wake(sessionID)
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

  async #project(directory = this.#directory) {
    const project = await this.#engine.projects.get(directory)
    const { loaded } = await project.setup()
    return { project, scope: grantScope(loaded.project) }
  }
}
