import { z } from "zod"
import { MessageID, PermissionID, SessionID } from "./id/id.ts"
import { JsonObject } from "./json.ts"

export const Action = z.enum(["allow", "ask", "deny"])
export type Action = z.infer<typeof Action>

/** One permission line. In a set the later rule wins. */
export const Rule = z.object({ permission: z.string().min(1), pattern: z.string().min(1), action: Action })
export type Rule = z.infer<typeof Rule>

export const Ruleset = z.array(Rule)
export type Ruleset = z.infer<typeof Ruleset>

/** The two forms that people write: `{edit: "ask"}` and `{edit: {"*.ts": "allow"}}`. */
export const RulesInput = z.record(z.string(), z.union([Action, z.record(z.string(), Action)]))
export type RulesInput = z.infer<typeof RulesInput>

export const PermissionReply = z.enum(["once", "always", "reject"])
export type PermissionReply = z.infer<typeof PermissionReply>

/** A question to a person. It stays as a row after it was answered, with the answer in it. */
export const PermissionRequest = z.object({
  id: PermissionID,
  sessionID: SessionID,
  /** Of a child: the sessions above it, the root first, and itself. */
  path: z.array(SessionID).optional(),
  permission: z.string().min(1),
  patterns: z.array(z.string()),
  /** The patterns that `always` would allow from now on. */
  always: z.array(z.string()).default([]),
  metadata: JsonObject.default({}),
  tool: z.object({ messageID: MessageID, callID: z.string() }).optional(),
  time: z.object({ created: z.number(), replied: z.number().optional() }),
  reply: PermissionReply.optional(),
  /** What the person said with a reject, for the model. */
  feedback: z.string().optional(),
})
export type PermissionRequest = z.infer<typeof PermissionRequest>
