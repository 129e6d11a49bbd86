import { z } from "zod"
import { PermissionReply, SessionStatus } from "../../../protocol/index.ts"
import { WireMessage, WireMessageError, WirePart } from "./wire-message.ts"
import { WireFileDiff, WirePermission, WireSession, WireTodo } from "./wire-session.ts"

function event<T extends string, S extends z.ZodRawShape>(type: T, properties: S) {
  return z.object({ id: z.string(), type: z.literal(type), properties: z.object(properties) })
}

const sessionID = z.string()
const messageID = z.string()
const partID = z.string()
const cursor = z.string().describe("Where a stream continues")

/** The events of the OpenCode client. It ignores `synced` and `lagged`, which are about the stream itself. */
export const WireEvent = z.discriminatedUnion("type", [
  event("session.created", { sessionID, info: WireSession }),
  event("session.updated", { sessionID, info: WireSession }),
  event("session.deleted", { sessionID, info: WireSession }),
  event("session.diff", { sessionID, diff: z.array(WireFileDiff) }),
  event("session.error", { sessionID: sessionID.optional(), error: WireMessageError }),
  event("session.status", { sessionID, status: SessionStatus }),
  event("session.idle", { sessionID }),
  event("session.compacted", { sessionID }),
  event("message.updated", { sessionID, info: WireMessage }),
  event("message.removed", { sessionID, messageID }),
  event("message.part.updated", { sessionID, part: WirePart, time: z.number() }),
  event("message.part.removed", { sessionID, messageID, partID }),
  event("message.part.delta", {
    sessionID,
    messageID,
    partID,
    field: z.literal("text"),
    delta: z.string().describe("The text to append"),
  }),
  z.object({ id: z.string(), type: z.literal("permission.asked"), properties: WirePermission }),
  event("permission.replied", { sessionID, requestID: z.string(), reply: PermissionReply }),
  event("todo.updated", { sessionID, todos: z.array(WireTodo) }),
  event("server.connected", {}),
  event("synced", { cursor }),
  event("lagged", { cursor }),
])
export type WireEvent = z.infer<typeof WireEvent>

/** An event in the stream of all directories. */
export const WireGlobalEvent = z.object({
  directory: z.string().describe("`global` for events about the stream itself"),
  project: z.string().optional(),
  payload: WireEvent,
})
