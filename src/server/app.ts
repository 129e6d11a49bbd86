import { StemmaError } from "../protocol/index.ts"
import { type Route, routes } from "../protocol/routes/index.ts"
import type { ServerContext } from "./http/call.ts"
import { HttpError } from "./http/errors.ts"
import { type App, callOf, createApp, errorResponse, mount } from "./http/mount.ts"
import { allowedMethods, singularPath } from "./http/route-paths.ts"
import { directoryHandlers, serverHandlers } from "./native/directory.ts"
import { sessionHandlers } from "./native/session.ts"
import { sessionsHandlers } from "./native/sessions.ts"
import { documentHandlers, documentRoutes } from "./openapi/routes.ts"
import { mountOpencode, opencodeRoutes } from "./opencode/index.ts"
import { mountPanel, panelRoutes } from "./panel/index.ts"
import { mountShare, type Shares, shareRoutes } from "./share/index.ts"

/**
 * Mounts every route and the answer for unknown paths. If two routes have the same path, the route that is mounted
 * first answers.
 */
export function buildApp(context: ServerContext, shares: Shares): App {
  const app = createApp()
  const all: Route[] = []
  mount(app, context, { routes: routes.server, handlers: serverHandlers(context) })
  mount(app, context, { routes: routes.sessions, handlers: sessionsHandlers(context) })
  mountOpencode(app, context)
  mount(app, context, {
    routes: routes.session,
    handlers: sessionHandlers(context),
    aliases: (path) => singularPath(path),
  })
  mount(app, context, { routes: routes.place, handlers: directoryHandlers(context) })
  mount(app, context, { routes: documentRoutes, handlers: documentHandlers() })
  mountPanel(app, context)
  mountShare(app, context, shares)
  const others = [documentRoutes, panelRoutes, shareRoutes, ...Object.values(opencodeRoutes)]
  for (const group of [...Object.values(routes), ...others]) all.push(...Object.values<Route>(group))
  app.get(
    "/",
    (c) => new Response(null, { status: 302, headers: { ...callOf(c).headers, location: "/docs" } }),
  )
  app.notFound((c) => {
    const call = callOf(c)
    try {
      call.authorize()
      const allow = allowedMethods(all, new URL(c.req.url).pathname)
      if (allow.length > 0)
        throw new HttpError(
          405,
          `This path does not support the method ${c.req.method}. Use ${allow.join(" or ")}.`,
          { headers: { allow: allow.join(", ") } },
        )
      throw new StemmaError("not_found", "There is no route at this path. /openapi.json lists all routes.")
    } catch (error) {
      return errorResponse(error, { call, context })
    }
  })
  app.onError((error, c) => errorResponse(error, { call: callOf(c), context }))
  return app
}
