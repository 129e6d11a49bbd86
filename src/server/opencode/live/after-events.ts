import type { ServerContext } from "../../http/call.ts"

/**
 * `opencode run --attach` ends as soon as it has the answer, and needs a few turns of its event loop for the events that
 * came just before on another connection. docs/decisions/answers-after-events.md has the figures.
 */
const readMs = 50

/** Returns the result of a call once every open stream has been given its events, and its reader had time to read them. */
export async function afterEvents<T>(server: ServerContext, sessionID: string, work: Promise<T>): Promise<T> {
  try {
    return await server.afterEvents(sessionID, work)
  } finally {
    if (server.streams.count > 0) await new Promise((resolve) => setTimeout(resolve, readMs))
  }
}
