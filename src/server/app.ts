import { routes } from "../protocol/routes/index.ts"
import type { ServerContext } from "./http/call.ts"
import { type App, callOf, createApp, errorResponse, mount } from "./http/mount.ts"
import { directoryHandlers, serverHandlers } from "./native/directory.ts"
import { sessionHandlers } from "./native/session.ts"
import { sessionsHandlers } from "./native/sessions.ts"

/** Mounts Stemma's own routes. `others` answers every other request; it is loaded with the first of them. */
export function buildApp(context: ServerContext, others: () => Promise<App>): App {
  const app = createApp()
  mount(app, context, { routes: routes.server, handlers: serverHandlers(context) })
  mount(app, context, { routes: routes.sessions, handlers: sessionsHandlers(context) })
  mount(app, context, { routes: routes.session, handlers: sessionHandlers(context) })
  mount(app, context, { routes: routes.place, handlers: directoryHandlers(context) })
  app.notFound(async (c) => (await others()).fetch(c.req.raw, c.env))
  app.onError((error, c) => errorResponse(error, { call: callOf(c), context }))
  return app
}
