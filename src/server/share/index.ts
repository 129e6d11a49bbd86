import type { ServerContext } from "../http/call.ts"
import { type App, mount } from "../http/mount.ts"
import { shareHandlers } from "./handlers.ts"
import { shareRoutes } from "./routes.ts"
import type { Shares } from "./shares.ts"

export { shareRoutes } from "./routes.ts"
export { Shares } from "./shares.ts"

export function mountShare(app: App, context: ServerContext, shares: Shares): void {
  mount(app, context, { routes: shareRoutes, handlers: shareHandlers(context, shares) })
}
