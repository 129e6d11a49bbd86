import { besideSteps } from "./beside-steps.ts"
import { messageSteps } from "./message-steps.ts"
import { sessionSteps } from "./session-steps.ts"
import type { Steps } from "./step.ts"
import { wholeSteps } from "./whole-steps.ts"
import { wrongSteps } from "./wrong-steps.ts"

export type { Step, Steps } from "./step.ts"

export const allSteps: Steps = {
  ...sessionSteps,
  ...messageSteps,
  ...besideSteps,
  ...wholeSteps,
  ...wrongSteps,
}
