import type { ServerContext } from "../http/call.ts"
import { type App, mount } from "../http/mount.ts"
import { directoryHandlers } from "./handlers/directory-handlers.ts"
import { eventHandlers } from "./handlers/event-stream.ts"
import { fileHandlers } from "./handlers/file-handlers.ts"
import { messageHandlers } from "./handlers/message-handlers.ts"
import { permissionHandlers } from "./handlers/permission-handlers.ts"
import { absentHandlers } from "./handlers/project/absent-handlers.ts"
import { globalHandlers } from "./handlers/project/global-handlers.ts"
import { locationHandlers } from "./handlers/project/location-handlers.ts"
import { projectHandlers } from "./handlers/project/project-handlers.ts"
import { sessionHandlers } from "./handlers/session-handlers.ts"
import { OpenReaders } from "./live/open-readers.ts"
import { opencodeRoutes } from "./routes/routes.ts"
import { errorBody } from "./wire/errors.ts"

export { opencodeRoutes } from "./routes/routes.ts"
export { WireError } from "./wire/wire-session.ts"

/**
 * Mounts the routes of the OpenCode client. If a path is also one of Stemma's own, the route that is mounted first
 * answers.
 */
export function mountOpencode(app: App, context: ServerContext): void {
  const { session, message, permission, event, global, place, project, location, absent, file } =
    opencodeRoutes
  const readers = new OpenReaders()
  mount(app, context, { routes: session, handlers: sessionHandlers(context, readers), errorBody })
  mount(app, context, { routes: message, handlers: messageHandlers(context, readers), errorBody })
  mount(app, context, { routes: permission, handlers: permissionHandlers(context), errorBody })
  mount(app, context, { routes: event, handlers: eventHandlers(context, readers), errorBody })
  mount(app, context, { routes: global, handlers: globalHandlers(context, readers), errorBody })
  mount(app, context, { routes: place, handlers: directoryHandlers(context), errorBody })
  mount(app, context, { routes: project, handlers: projectHandlers(context), errorBody })
  mount(app, context, { routes: location, handlers: locationHandlers(context), errorBody })
  mount(app, context, { routes: absent, handlers: absentHandlers, errorBody })
  mount(app, context, { routes: file, handlers: fileHandlers(context), errorBody })
}
