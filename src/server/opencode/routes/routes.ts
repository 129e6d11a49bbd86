import { directoryRoutes, eventRoutes, fileRoutes, permissionRoutes } from "./directory-routes.ts"
import { sessionRoutes } from "./session-routes.ts"

/** All routes of the OpenCode client that the server has, by group and name. */
export const opencodeRoutes = {
  session: sessionRoutes,
  permission: permissionRoutes,
  event: eventRoutes,
  place: directoryRoutes,
  file: fileRoutes,
}
