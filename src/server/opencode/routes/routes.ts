import { eventRoutes, fileRoutes, permissionRoutes, placeRoutes } from "./directory-routes.ts"
import { sessionRoutes } from "./session-routes.ts"

/** Every route of the OpenCode client that is served, by what it is about and its name. */
export const opencodeRoutes = {
  session: sessionRoutes,
  permission: permissionRoutes,
  event: eventRoutes,
  place: placeRoutes,
  file: fileRoutes,
}
