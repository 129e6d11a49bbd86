import { type Grant, grantScope } from "../config/grants.ts"
import { type PermissionReply, type PermissionRequest, StemmaError } from "../protocol/index.ts"
import type { Store } from "../stores/store.ts"
import { checkText, grantedOptions, replyAnswer, revokeOptions } from "./arguments.ts"
import { checkPermissionID, checkSessionID } from "./check-argument.ts"
import type { Coordinator } from "./coordinator.ts"
import type { Engine } from "./engine.ts"

/** The open questions of a session and of those below it, the root's first. */
export async function openQuestions(store: Store, sessionID: string): Promise<PermissionRequest[]> {
  return questionsOfTree(store, { rootID: sessionID, open: true })
}

async function questionsOfTree(
  store: Store,
  { rootID, ...which }: { rootID: string; open?: true },
): Promise<PermissionRequest[]> {
  const sessions = await store.tree(rootID)
  const asked = await Promise.all(sessions.map(({ id }) => store.permissions({ sessionID: id, ...which })))
  return asked.flat()
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
    return this.#engine.listeners.add()
  }

  /** The open questions of a session and of those below it. */
  async open(sessionID: string): Promise<PermissionRequest[]> {
    checkSessionID(sessionID, "permissions.open")
    return openQuestions(this.#engine.store, sessionID)
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
    const isIt = ({ id }: PermissionRequest) => id === permissionID
    const request =
      (await openQuestions(store, rootID)).find(isIt) ?? (await questionsOfTree(store, { rootID })).find(isIt)
    if (!request) {
      throw new StemmaError("not_found", `Session ${rootID} has no question ${permissionID}.`)
    }
    const { sessionID } = request
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
