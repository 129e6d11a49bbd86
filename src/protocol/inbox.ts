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
  /** True: command references are run. False: they stay text. */
  commands: z.boolean(),
  /**
   * `fixed`: spans of references that come from a command template the user trusts. They run without a permission
   * request.
   */
  parts: z.array(z.object({ partID: PartID, fixed: TextSpans.optional() })),
})
export type PromptReferences = z.infer<typeof PromptReferences>

/** An item that was admitted to a session and not yet taken by a run. */
export const InboxItem = z.discriminatedUnion("type", [
  z.object({
    ...base,
    id: MessageID,
    type: z.literal("prompt"),
    /** A run takes a `steer` prompt at its next step, and a `queue` prompt when the run is done. */
    delivery: z.enum(["steer", "queue"]),
    message: UserBody,
    parts: z.array(PartBody),
    /** The text parts whose references are resolved when a run takes the prompt. */
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
