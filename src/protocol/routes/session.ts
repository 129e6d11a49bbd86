import { changingRoutes } from "./session-changing.ts"
import { readingRoutes } from "./session-reading.ts"
import { talkingRoutes } from "./session-talking.ts"

/** One session. */
export const sessionRoutes = { ...readingRoutes, ...talkingRoutes, ...changingRoutes }
