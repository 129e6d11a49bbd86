import { directoryRoutes, eventRoutes, fileRoutes, permissionRoutes } from "./directory-routes.ts"
import { messageRoutes } from "./message-routes.ts"
import { absentRoutes, globalRoutes, locationRoutes, projectRoutes } from "./project-routes.ts"
import { sessionRoutes } from "./session-routes.ts"

/** All routes of the OpenCode client that the server has, by group and name. */
export const opencodeRoutes = {
  session: sessionRoutes,
  message: messageRoutes,
  permission: permissionRoutes,
  event: eventRoutes,
  global: globalRoutes,
  place: directoryRoutes,
  project: projectRoutes,
  location: locationRoutes,
  absent: absentRoutes,
  file: fileRoutes,
}
