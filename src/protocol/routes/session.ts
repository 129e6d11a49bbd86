import { sessionPromptRoutes } from "./session-prompts.ts"
import { sessionReadRoutes } from "./session-reads.ts"
import { sessionUpdateRoutes } from "./session-updates.ts"

/** All routes of one session. */
export const sessionRoutes = { ...sessionReadRoutes, ...sessionPromptRoutes, ...sessionUpdateRoutes }
