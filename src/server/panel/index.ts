import type { ServerContext } from "../http/call.ts"
import { type App, mount } from "../http/mount.ts"
import { panelHandlers } from "./handlers.ts"
import { panelRoutes } from "./routes.ts"

export { panelRoutes } from "./routes.ts"

export function mountPanel(app: App, context: ServerContext): void {
  mount(app, context, { routes: panelRoutes, handlers: panelHandlers(context) })
}
