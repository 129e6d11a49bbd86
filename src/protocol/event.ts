import { z } from "zod"
import { MessageID, PartID, PermissionID, SessionID } from "./id/id.ts"
import { FileDiff } from "./message/file-diff.ts"
import { Message } from "./message/message.ts"
import { MessageError } from "./message/message-error.ts"
import { GrowingField, Part } from "./message/part.ts"
import { Todo } from "./message/todo.ts"
import { PermissionReply, PermissionRequest } from "./permission.ts"
import { Session, SessionStatus } from "./session.ts"

function event<T extends string, S extends z.ZodRawShape>(type: T, properties: S) {
  return z.object({ type: z.literal(type), properties: z.object(properties) })
}

/**
 * Every event. Each event is derived from a row change, except `message.part.delta`, which is sent live and not stored.
 */
export const StemmaEvent = z.discriminatedUnion("type", [
  event("session.created", { info: Session }),
  event("session.updated", { info: Session }),
  event("session.deleted", { info: Session.pick({ id: true, parentID: true, directory: true }) }),
  event("session.diff", { sessionID: SessionID, diff: z.array(FileDiff) }),
  event("session.error", { sessionID: SessionID.optional(), error: MessageError }),
  event("session.status", { sessionID: SessionID, status: SessionStatus }),
  event("session.idle", { sessionID: SessionID }),
  event("session.compacted", { sessionID: SessionID }),
  event("message.updated", { info: Message }),
  event("message.removed", { sessionID: SessionID, messageID: MessageID }),
  event("message.part.updated", { part: Part }),
  event("message.part.removed", { sessionID: SessionID, messageID: MessageID, partID: PartID }),
  event("message.part.delta", {
    sessionID: SessionID,
    messageID: MessageID,
    partID: PartID,
    field: GrowingField,
    /**
     * Where the delta begins, in UTF-16 units. A receiver applies the delta only if its text has exactly this length.
     */
    offset: z.number().int().nonnegative(),
    delta: z.string(),
  }),
  event("permission.asked", { request: PermissionRequest }),
  event("permission.replied", { sessionID: SessionID, permissionID: PermissionID, reply: PermissionReply }),
  event("todo.updated", { sessionID: SessionID, todos: z.array(Todo) }),
])
export type StemmaEvent = z.infer<typeof StemmaEvent>
export type EventType = StemmaEvent["type"]
export type EventOf<T extends EventType> = Extract<StemmaEvent, { type: T }>
