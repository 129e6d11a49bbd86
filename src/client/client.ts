import type {
  directoryRoutes,
  serverRoutes,
  sessionRoutes,
  sessionsRoutes,
} from "../protocol/routes/index.ts"
import { clientRoutes } from "./client-routes.ts"
import { type ClientOptions, Connection } from "./connection.ts"
import { Replica, type ReplicaOptions, type ReplicaReads } from "./replica/replica.ts"
import { type RouteCalls, routeCalls } from "./route-call.ts"
import { EventStream, type EventsOptions } from "./stream/event-stream.ts"

/** A server's routes as functions, and its event streams. Calls fail with the StemmaError that the server sent. */
export interface Client {
  readonly sessions: RouteCalls<typeof sessionsRoutes>
  readonly place: RouteCalls<typeof directoryRoutes>
  readonly server: RouteCalls<typeof serverRoutes>
  /** One session. Sends no request. */
  session(id: string): SessionClient
  /** The events of all sessions of a directory. */
  events(options?: EventsOptions & { directory?: string }): EventStream
}

type ReplicaRoutes = Pick<typeof sessionRoutes, "snapshot" | "history">

/** The calls for one session. */
export interface SessionClient extends RouteCalls<typeof sessionRoutes, "id"> {
  readonly id: string
  /** The events of the session. With `tree`, also the events of its descendants. */
  events(options?: EventsOptions & { tree?: boolean }): EventStream
  /** A live copy of the session. */
  replica(options?: ReplicaOptions): Replica
}

/** Creates a client. Sends no request. */
export function createClient(options: ClientOptions): Client {
  const connection = new Connection(options)
  return {
    sessions: routeCalls<typeof sessionsRoutes>(connection, clientRoutes.sessions),
    place: routeCalls<typeof directoryRoutes>(connection, clientRoutes.place),
    server: routeCalls<typeof serverRoutes>(connection, clientRoutes.server),
    session: (id) => sessionClient(connection, id),
    events({ directory = connection.directory, since, signal } = {}) {
      const query = { format: "events", ...(directory !== undefined && { directory }) }
      return new EventStream(connection, { path: "/event", query, since, ...(signal && { signal }) })
    },
  }
}

function sessionClient(connection: Connection, id: string): SessionClient {
  const bound = { id }
  const calls = routeCalls<typeof sessionRoutes, "id">(connection, clientRoutes.session, { bound })
  return {
    ...calls,
    id,
    events({ tree, since, signal } = {}) {
      const query: Record<string, string> = { format: "events", ...(tree && { tree: "true" }) }
      const path = `/sessions/${encodeURIComponent(id)}/event`
      return new EventStream(connection, { path, query, since, ...(signal && { signal }) })
    },
    replica(options) {
      const { snapshot, history } = clientRoutes.session
      const { silenceMs } = connection.reconnect
      const reads: ReplicaReads = routeCalls<ReplicaRoutes, "id">(
        connection,
        { snapshot, history },
        { bound, silenceMs },
      )
      return new Replica(connection, reads, { ...options, sessionID: id })
    },
  }
}
