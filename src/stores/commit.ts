import { z } from "zod"
import {
  GrowingField,
  MessageBody,
  MessageID,
  NewSession,
  PartBody,
  PartID,
  PermissionRequest,
  SegmentID,
  SessionID,
  SessionPatch,
  Todo,
  Tokens,
} from "../protocol/index.ts"

/** A sealed message with its parts that a fork or a revert appends: a truncated copy of a message, with new ids. */
const SealedMessage = z.object({ message: MessageBody, parts: z.array(PartBody) })

/**
 * The operations of a commit. They are applied in order, all or none.
 *
 * An operation marked (run) needs the fence of the session's lease, unless the same commit created the session or the
 * session is still being imported; otherwise it is `conflict`. Every operation is `not_found` if its session does not
 * exist, and `invalid` if its fields are malformed.
 */
export const Op = z.discriminatedUnion("op", [
  /**
   * Creates a session with an empty history. With `importing`, the session is invisible until `session.publish`.
   * `conflict` if the session id or the segment id was used before, if the agent's key is taken, or if the share secret
   * is taken. `not_found` if the parent does not exist.
   */
  z.object({
    op: z.literal("session.create"),
    session: NewSession,
    segment: SegmentID,
    importing: z.boolean().optional(),
  }),
  /**
   * Ends an import: the session and all its messages become visible at once. `invalid` if the session is not being
   * imported.
   */
  z.object({ op: z.literal("session.publish"), sessionID: SessionID }),
  /**
   * Sets single fields; `null` removes an optional field. `add` adds to cost and tokens; decimal costs are added
   * exactly. `conflict` if the key or the share secret is taken. `not_found` if `revert` names a message or a part that
   * the history does not have.
   */
  z.object({
    op: z.literal("session.patch"),
    sessionID: SessionID,
    set: SessionPatch.optional(),
    add: z.object({ cost: z.number().nonnegative(), tokens: Tokens }).partial().optional(),
  }),
  /**
   * Creates a session that shares the source's sealed messages before `messageID`, or all of them without it. Open
   * messages and messages that the source's revert mark hides are never shared. `left` forks a left tail.
   *
   * agent, model, permission, maxHistory, projectID and directory come from the source unless `session` names them. All
   * other fields, such as `caller`, never come from the source. The fork is a root session unless `session` names a
   * parent, even if its source is a child. `tail` is appended and sealed. Errors as for `session.create`; `not_found`
   * also for an unknown message or left tail.
   */
  z.object({
    op: z.literal("session.fork"),
    sourceID: SessionID,
    messageID: MessageID.optional(),
    left: SegmentID.optional(),
    session: NewSession.partial({ projectID: true, directory: true }),
    segment: SegmentID,
    tail: SealedMessage.optional(),
  }),
  /**
   * (run) Appends a message. The store assigns its position. `conflict` while the message before it is open, or if the
   * history already has the id. `invalid` while the session has a revert mark, for two parts with the same id, and for
   * a sealed message with an unsettled tool call.
   */
  z.object({
    op: z.literal("message.append"),
    sessionID: SessionID,
    message: MessageBody,
    parts: z.array(PartBody).optional(),
    sealed: z.boolean().optional(),
  }),
  /** (run) Replaces the fields of the open message. `invalid` if the message is sealed, or if its role would change. */
  z.object({ op: z.literal("message.put"), sessionID: SessionID, message: MessageBody }),
  /**
   * (run) Puts a part of the open message. A part with a known id is replaced and keeps its index; a new part is
   * appended. The new value replaces text that had grown by pieces. With `grown: "keep"` the pieces stay, and the
   * growing fields of the new value must be empty or absent. `invalid` if the type would change, or for a tool state
   * that may not follow the present state.
   */
  z.object({
    op: z.literal("part.put"),
    sessionID: SessionID,
    messageID: MessageID,
    part: PartBody,
    grown: z.literal("keep").optional(),
  }),
  /** (run) Removes the parts of the open message from index `keep` on. A run does this after a model call failed. */
  z.object({
    op: z.literal("part.truncate"),
    sessionID: SessionID,
    messageID: MessageID,
    keep: z.number().int().nonnegative(),
  }),
  /**
   * (run) Appends text to a growing field of a part of the open message: `text` of text and reasoning, `raw` of a
   * pending tool call, `output` of a running tool call. `conflict` if `offset` is not the present length of the field
   * in UTF-16 units; `details.length` has that length. `invalid` for a field that does not grow now. Do not split a
   * surrogate pair over two pieces.
   */
  z.object({
    op: z.literal("piece.add"),
    sessionID: SessionID,
    messageID: MessageID,
    partID: PartID,
    field: GrowingField,
    offset: z.number().int().nonnegative(),
    text: z.string(),
  }),
  /** (run) Seals the open message, with its final fields if given. `invalid` while a tool call has no result. */
  z.object({
    op: z.literal("message.seal"),
    sessionID: SessionID,
    messageID: MessageID,
    message: MessageBody.optional(),
  }),
  /**
   * Attaches a note to a sealed message; `invalid` while the message is open. The newest note of a key wins; `null`
   * removes it. A note belongs to the history as it was when the note was written: a fork that keeps fewer messages
   * does not see the note.
   */
  z.object({
    op: z.literal("note.put"),
    sessionID: SessionID,
    messageID: MessageID,
    key: z.string().regex(/^[a-z][a-z.-]{0,31}$/),
    value: z.unknown(),
  }),
  /** Replaces all todos of the session. */
  z.object({ op: z.literal("todos.put"), sessionID: SessionID, todos: z.array(Todo) }),
  /**
   * Adds a permission request, or replaces the request with the same id to record its reply. Requests are never
   * deleted.
   */
  z.object({ op: z.literal("permission.put"), request: PermissionRequest }),
  /** (run) Takes an item from the inbox. `conflict` if it was taken already, `not_found` if it was never admitted. */
  z.object({ op: z.literal("inbox.take"), sessionID: SessionID, itemID: z.string() }),
  /**
   * (run) Makes a revert real: moves the session to a new segment whose history ends just before `messageID`, then
   * appends `tail`, sealed. The messages after it stay readable as a left tail in `history.left`. Clears the revert
   * mark and increments the epoch. `invalid` while a message is open, `conflict` if the segment id was used before.
   */
  z.object({
    op: z.literal("history.move"),
    sessionID: SessionID,
    segment: SegmentID,
    messageID: MessageID,
    tail: SealedMessage.optional(),
  }),
])
export type Op = z.infer<typeof Op>
export type OpOf<T extends Op["op"]> = Extract<Op, { op: T }>

export const Commit = z.object({
  ops: z.array(Op).min(1),
  /**
   * The fence of the lease of each session that the commit writes a run of. Another fence, or an expired lease, is
   * `conflict`.
   */
  fences: z.record(SessionID, z.number().int().positive()).optional(),
  /** The `seq` of each session as the caller last read it. Another present `seq` is `conflict`. */
  expectSeq: z.record(SessionID, z.number().int().nonnegative()).optional(),
})
export type Commit = z.infer<typeof Commit>

/** The operations that need a lease. */
export const runOps: ReadonlySet<Op["op"]> = new Set([
  "message.append",
  "message.put",
  "part.put",
  "part.truncate",
  "piece.add",
  "message.seal",
  "inbox.take",
  "history.move",
] satisfies Op["op"][])
