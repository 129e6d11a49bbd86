import { z } from "zod"
import { MessageID, PermissionID, SessionID } from "./id/id.ts"
import { JsonObject } from "./json.ts"

export const Action = z.enum(["allow", "ask", "deny"])
export type Action = z.infer<typeof Action>

/** One permission rule. In a ruleset the last rule that matches wins. */
export const Rule = z.object({ permission: z.string().min(1), pattern: z.string().min(1), action: Action })
export type Rule = z.infer<typeof Rule>

export const Ruleset = z.array(Rule)
export type Ruleset = z.infer<typeof Ruleset>

/** The two forms that people write: `{edit: "ask"}` and `{edit: {"*.ts": "allow"}}`. */
export const RulesInput = z.record(z.string(), z.union([Action, z.record(z.string(), Action)]))
export type RulesInput = z.infer<typeof RulesInput>

export const PermissionReply = z.enum(["once", "always", "reject"])
export type PermissionReply = z.infer<typeof PermissionReply>

/** A permission question to a person. The row stays after the answer, with the answer in it. */
export const PermissionRequest = z.object({
  id: PermissionID,
  sessionID: SessionID,
  /** Only in a child session: the ids of its ancestors, root first, and then its own id. */
  path: z.array(SessionID).optional(),
  permission: z.string().min(1),
  patterns: z.array(z.string()),
  /** The patterns that the reply `always` allows from then on. */
  always: z.array(z.string()).default([]),
  metadata: JsonObject.default({}),
  tool: z.object({ messageID: MessageID, callID: z.string() }).optional(),
  time: z.object({ created: z.number(), replied: z.number().optional() }),
  reply: PermissionReply.optional(),
  /** The person's text that came with a reject, for the model. */
  feedback: z.string().optional(),
})
export type PermissionRequest = z.infer<typeof PermissionRequest>
