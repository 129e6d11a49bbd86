import { heldOutCommand } from "./held-out-command.ts"
import { heldOutConstraint } from "./held-out-constraint.ts"
import { heldOutDecision } from "./held-out-decision.ts"
import { heldOutFile } from "./held-out-file.ts"
import { heldOutIdentifier } from "./held-out-identifier.ts"
import { heldOutTodo } from "./held-out-todo.ts"
import { openCommand } from "./open-command.ts"
import { openConstraint } from "./open-constraint.ts"
import { openDecision } from "./open-decision.ts"
import { openFile } from "./open-file.ts"
import { openIdentifier } from "./open-identifier.ts"
import { openTodo } from "./open-todo.ts"
import type { Half, Kind, Phrasings } from "./phrasing.ts"

export const phrasings: Record<Half, Record<Kind, Phrasings>> = {
  open: {
    file: openFile,
    command: openCommand,
    constraint: openConstraint,
    decision: openDecision,
    todo: openTodo,
    identifier: openIdentifier,
  },
  "held-out": {
    file: heldOutFile,
    command: heldOutCommand,
    constraint: heldOutConstraint,
    decision: heldOutDecision,
    todo: heldOutTodo,
    identifier: heldOutIdentifier,
  },
}
