import { z } from "zod"
import { SessionID } from "./id/id.ts"
import { InboxItem } from "./inbox.ts"
import { Message } from "./message/message.ts"
import { GrowingField, Part } from "./message/part.ts"
import { Todo } from "./message/todo.ts"
import { PermissionRequest } from "./permission.ts"
import type { HistoryItem as HistoryItemType, Row as RowType } from "./row.ts"
import { Session } from "./session.ts"

const count = z.number().int().nonnegative()
const common = { version: count, sessionID: SessionID }

/** The schema of a `Row` as it is sent, for the OpenAPI document and tests. */
export const RowSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("session"), ...common, session: Session }),
  z.object({
    type: z.literal("removed"),
    ...common,
    parentID: SessionID.optional(),
    directory: z.string(),
  }),
  z.object({ type: z.literal("history"), ...common, epoch: count, keep: count }),
  z.object({
    type: z.literal("message"),
    ...common,
    position: count,
    sealed: z.boolean(),
    parts: count,
    message: Message,
  }),
  z.object({ type: z.literal("part"), ...common, position: count, index: count, part: Part }),
  z.object({
    type: z.literal("piece"),
    ...common,
    position: count,
    index: count,
    messageID: z.string(),
    partID: z.string(),
    field: GrowingField,
    offset: count,
    text: z.string(),
  }),
  z.object({
    type: z.literal("note"),
    ...common,
    position: count,
    messageID: z.string(),
    key: z.string(),
    value: z.unknown(),
  }),
  z.object({ type: z.literal("todos"), ...common, todos: z.array(Todo) }),
  z.object({ type: z.literal("permission"), ...common, request: PermissionRequest }),
  z.object({ type: z.literal("inbox"), ...common, items: z.array(InboxItem) }),
]) satisfies z.ZodType<RowType>

/** The schema of a `HistoryItem` as it is sent. */
export const HistoryItemSchema = z.object({
  position: count,
  version: count,
  sealed: z.boolean(),
  message: Message,
  parts: z.array(Part),
  notes: z.record(z.string(), z.unknown()).optional(),
}) satisfies z.ZodType<HistoryItemType>
