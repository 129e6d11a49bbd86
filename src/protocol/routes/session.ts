import { talkingRoutes } from "./session-prompts.ts"
import { readingRoutes } from "./session-reads.ts"
import { changingRoutes } from "./session-updates.ts"

/** One session. */
export const sessionRoutes = { ...readingRoutes, ...talkingRoutes, ...changingRoutes }
