import { talkingRoutes } from "./session-prompts.ts"
import { readingRoutes } from "./session-reads.ts"
import { changingRoutes } from "./session-updates.ts"

/** All routes of one session. */
export const sessionRoutes = { ...readingRoutes, ...talkingRoutes, ...changingRoutes }
