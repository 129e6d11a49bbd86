import type { ServerContext } from "../http/call.ts"
import { type App, mount } from "../http/mount.ts"
import { directoryHandlers } from "./handlers/directory-handlers.ts"
import { eventHandlers } from "./handlers/event-stream.ts"
import { fileHandlers } from "./handlers/file-handlers.ts"
import { permissionHandlers } from "./handlers/permission-handlers.ts"
import { sessionHandlers } from "./handlers/session-handlers.ts"
import { opencodeRoutes } from "./routes/routes.ts"
import { errorBody } from "./wire/errors.ts"

export { opencodeRoutes } from "./routes/routes.ts"
export { WireError } from "./wire/wire-session.ts"

/**
 * Mounts the routes of the OpenCode client. If a path is also one of Stemma's own, the route that is mounted first
 * answers.
 */
export function mountOpencode(app: App, context: ServerContext): void {
  const { session, permission, event, place, file } = opencodeRoutes
  mount(app, context, { routes: session, handlers: sessionHandlers(context), errorBody })
  mount(app, context, { routes: permission, handlers: permissionHandlers(context), errorBody })
  mount(app, context, { routes: event, handlers: eventHandlers(context), errorBody })
  mount(app, context, { routes: place, handlers: directoryHandlers(context), errorBody })
  mount(app, context, { routes: file, handlers: fileHandlers(context), errorBody })
}
