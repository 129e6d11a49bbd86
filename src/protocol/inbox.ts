import { z } from "zod"
import { MessageID, PermissionID, SessionID } from "./id.ts"
import { UserBody } from "./message.ts"
import { PartBody } from "./part.ts"
import { PermissionReply } from "./permission.ts"

const itemID = z
  .string()
  .regex(/^[0-9A-Za-z][0-9A-Za-z_:.-]{0,127}$/, "expected an id of letters, digits, _ : . -")

const base = { id: itemID, sessionID: SessionID, time: z.number() }

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
