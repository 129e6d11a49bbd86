import type { ServerContext } from "../call.ts"
import { type App, mount } from "../mount.ts"
import { errorBody } from "./errors.ts"
import { eventHandlers } from "./event-stream.ts"
import { fileHandlers } from "./file-handlers.ts"
import { permissionHandlers } from "./permission-handlers.ts"
import { placeHandlers } from "./place-handlers.ts"
import { opencodeRoutes } from "./routes.ts"
import { sessionHandlers } from "./session-handlers.ts"

export { opencodeRoutes } from "./routes.ts"
export { WireError } from "./wire-session.ts"

/** Serves the routes of the OpenCode client. Where a path is also one of Stemma's own, whoever is mounted first answers. */
export function mountOpencode(app: App, context: ServerContext): void {
  const { session, permission, event, place, file } = opencodeRoutes
  mount(app, context, { routes: session, handlers: sessionHandlers(context), errorBody })
  mount(app, context, { routes: permission, handlers: permissionHandlers(context), errorBody })
  mount(app, context, { routes: event, handlers: eventHandlers(context), errorBody })
  mount(app, context, { routes: place, handlers: placeHandlers(context), errorBody })
  mount(app, context, { routes: file, handlers: fileHandlers(context), errorBody })
}
