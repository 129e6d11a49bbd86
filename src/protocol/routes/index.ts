export * from "./directory.ts"
export * from "./path-names.ts"
export * from "./route.ts"
export * from "./session.ts"
export * from "./session-prompts.ts"
export * from "./session-reads.ts"
export * from "./session-updates.ts"
export * from "./sessions.ts"

import { directoryRoutes, serverRoutes } from "./directory.ts"
import { sessionRoutes } from "./session.ts"
import { sessionsRoutes } from "./sessions.ts"

/** Every route of Stemma's own API, by group and name. The routes for other clients are in server/. */
export const routes = {
  sessions: sessionsRoutes,
  session: sessionRoutes,
  place: directoryRoutes,
  server: serverRoutes,
}
