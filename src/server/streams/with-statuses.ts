import type { Row, SessionStatus, StemmaEvent } from "../../protocol/index.ts"
import type { Frame } from "../../stream/hub.ts"
import type { Numbered } from "./format.ts"

/**
 * Returns the sessions whose status is sent right after `synced`, with the status: no row holds a session's status.
 * Called when the stream reaches `synced`, because every later change is sent as an event. `told`: the sessions that
 * the stream has sent frames of before.
 */
export type Statuses = (told: ReadonlySet<string>) => Promise<Iterable<[string, SessionStatus]>>

/** Inserts statuses after `synced`. */
export class WithStatuses {
  readonly #statuses: Statuses
  readonly #told = new Set<string>()
  /** True after `synced`: later frames need no check. */
  isDone = false

  constructor(statuses: Statuses) {
    this.#statuses = statuses
  }

  async add<F extends Numbered>(frames: F[]): Promise<F[]> {
    const at = frames.findIndex((frame) => "synced" in frame)
    for (const frame of at < 0 ? frames : frames.slice(0, at)) this.#note(frame)
    if (at < 0) return frames
    this.isDone = true
    const told: Frame[] = []
    for (const [sessionID, status] of await this.#statuses(this.#told)) {
      told.push({ event: { type: "session.status", properties: { sessionID, status } } })
    }
    this.#told.clear()
    if (told.length === 0) return frames
    return [...frames.slice(0, at + 1), ...(told as Numbered[] as F[]), ...frames.slice(at + 1)]
  }

  #note(frame: Numbered & { event?: StemmaEvent; row?: Row }): void {
    const { event, row } = frame
    const sessionID = row ? row.sessionID : event && sessionOf(event)
    if (sessionID === undefined) return
    // A removed session has no status.
    if (row?.type === "removed" || event?.type === "session.deleted") this.#told.delete(sessionID)
    else this.#told.add(sessionID)
  }
}

/** The session that an event is about. */
export function sessionOf({ type, properties }: StemmaEvent): string | undefined {
  switch (type) {
    case "session.created":
    case "session.updated":
    case "session.deleted":
      return properties.info.id
    case "message.updated":
      return properties.info.sessionID
    case "message.part.updated":
      return properties.part.sessionID
    case "permission.asked":
      return properties.request.sessionID
    default:
      return properties.sessionID
  }
}
