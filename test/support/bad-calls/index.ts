import type { BadCall } from "./bad-call.ts"
import { malformed } from "./malformed.ts"
import { unknownNames } from "./unknown-names.ts"
import { wrongMoments } from "./wrong-moments.ts"

export const badCalls: readonly BadCall[] = [...unknownNames, ...wrongMoments, ...malformed]
