import { StemmaError } from "../protocol/index.ts"
import { type Route, routes } from "../protocol/routes/index.ts"
import type { ServerContext } from "./http/call.ts"
import { HttpError } from "./http/errors.ts"
import { type App, callOf, createApp, errorResponse, mount } from "./http/mount.ts"
import { allowedMethods, singularPath } from "./http/route-paths.ts"
import { sessionHandlers } from "./native/session.ts"
import { documentHandlers, documentRoutes } from "./openapi/routes.ts"
import { mountOpencode, opencodeRoutes } from "./opencode/index.ts"
import { mountPanel, panelRoutes } from "./panel/index.ts"
import { mountShare, type Shares, shareRoutes } from "./share/index.ts"

/** The routes besides Stemma's own, in groups. */
export const otherRoutes: readonly Record<string, Route>[] = [
  documentRoutes,
  panelRoutes,
  shareRoutes,
  ...Object.values(opencodeRoutes),
]

/**
 * Mounts the routes that are not in `app.ts`, and the answer for unknown paths. If two routes have the same path, the route
 * that is mounted first answers.
 */
export function buildOthers(context: ServerContext, shares: Shares): App {
  const app = createApp()
  mountOpencode(app, context)
  mount(app, context, {
    routes: routes.session,
    handlers: sessionHandlers(context),
    paths: (path) => singularPath(path),
  })
  mount(app, context, { routes: documentRoutes, handlers: documentHandlers() })
  mountPanel(app, context)
  mountShare(app, context, shares)
  app.get(
    "/",
    (c) => new Response(null, { status: 302, headers: { ...callOf(c).headers, location: "/docs" } }),
  )
  const all = [...Object.values(routes), ...otherRoutes].flatMap((group) => Object.values<Route>(group))
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
