import { z } from "zod"
import { MessageID, PartID, PermissionID, SessionID } from "./id/id.ts"
import { UserBody } from "./message/message.ts"
import { PartBody, TextSpans } from "./message/part.ts"
import { PermissionReply } from "./permission.ts"

const itemID = z
  .string()
  .regex(/^[0-9A-Za-z][0-9A-Za-z_:.-]{0,127}$/, "expected an id of letters, digits, _ : . -")

const base = { id: itemID, sessionID: SessionID, time: z.number() }

export const PromptReferences = z.object({
  /** Whether commands are run; else they stay text. */
  commands: z.boolean(),
  /** `fixed`: the references that stand in a command's template that the user trusts, which need no question. */
  parts: z.array(z.object({ partID: PartID, fixed: TextSpans.optional() })),
})
export type PromptReferences = z.infer<typeof PromptReferences>

/** What was admitted to a session and not yet taken by a run. */
export const InboxItem = z.discriminatedUnion("type", [
  z.object({
    ...base,
    id: MessageID,
    type: z.literal("prompt"),
    /** `steer` is taken at the next step, `queue` when the run is done. */
    delivery: z.enum(["steer", "queue"]),
    message: UserBody,
    parts: z.array(PartBody),
    /** Text parts whose references are resolved when the prompt is taken. */
    references: PromptReferences.optional(),
  }),
  z.object({ ...base, type: z.literal("abort"), reason: z.string().optional() }),
  z.object({ ...base, type: z.literal("compact"), instructions: z.string().optional() }),
  z.object({
    ...base,
    type: z.literal("answer"),
    permissionID: PermissionID,
    reply: PermissionReply,
    feedback: z.string().optional(),
  }),
])
export type InboxItem = z.infer<typeof InboxItem>
