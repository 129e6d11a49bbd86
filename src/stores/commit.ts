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

/** A sealed message with its parts. A fork or a revert at a part appends it: a cut copy with new ids. */
const SealedMessage = z.object({ message: MessageBody, parts: z.array(PartBody) })

/**
 * What one commit can do. The operations of a commit are applied in order, all or none.
 *
 * Operations marked (run) need the fence of the session's lease, unless the same commit made the session or
 * the session is still being imported.
 */
export const Op = z.discriminatedUnion("op", [
  /** `importing`: the session is hidden until `session.publish`. `conflict` if the id or the agent's key is taken. */
  z.object({
    op: z.literal("session.create"),
    session: NewSession,
    segment: SegmentID,
    importing: z.boolean().optional(),
  }),
  /** Ends an import: the session and all its messages appear at once. */
  z.object({ op: z.literal("session.publish"), sessionID: SessionID }),
  /** Sets single fields; `add` adds to cost and tokens. */
  z.object({
    op: z.literal("session.patch"),
    sessionID: SessionID,
    set: SessionPatch.optional(),
    add: z.object({ cost: z.number().nonnegative(), tokens: Tokens }).partial().optional(),
  }),
  /**
   * A new session that shares the source's sealed messages before `messageID`, or all of them without it. Never
   * includes an open message or the messages that the source's revert mark hides. `left` forks a tail that a revert
   * left. agent, model, permission, maxHistory, projectID and directory come from the source unless `session` sets
   * them; `caller` and the other fields never do. The fork is a root session unless `session` names a parent, even if
   * its source is a child. `tail` is appended, sealed.
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
   * (run) Appends a message; the message before it must be sealed. The store assigns the position. Refused under a
   * revert mark.
   */
  z.object({
    op: z.literal("message.append"),
    sessionID: SessionID,
    message: MessageBody,
    parts: z.array(PartBody).optional(),
    sealed: z.boolean().optional(),
  }),
  /** (run) Replaces the fields of the open message. */
  z.object({ op: z.literal("message.put"), sessionID: SessionID, message: MessageBody }),
  /**
   * (run) Puts a part of the open message: a part with a known id is replaced at its index, a new part is appended. The
   * value replaces the text of the part's pieces; with `grown: "keep"` the pieces stay, and the growing fields of the
   * value must be empty or absent. A tool state that may not follow the present one is `invalid`.
   */
  z.object({
    op: z.literal("part.put"),
    sessionID: SessionID,
    messageID: MessageID,
    part: PartBody,
    grown: z.literal("keep").optional(),
  }),
  /** (run) Removes the parts of the open message from index `keep` on, after a failed attempt. */
  z.object({
    op: z.literal("part.truncate"),
    sessionID: SessionID,
    messageID: MessageID,
    keep: z.number().int().nonnegative(),
  }),
  /**
   * (run) Appends text to a growing field of a part of the open message: `text` of text and reasoning, `raw` of a
   * pending call, `output` of a running one. `offset` must be the field's present length in UTF-16 units, else
   * `conflict`. Do not split a surrogate pair over two pieces.
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
  /** (run) Seals the open message, with its final fields if given. `invalid` while a tool call is unsettled. */
  z.object({
    op: z.literal("message.seal"),
    sessionID: SessionID,
    messageID: MessageID,
    message: MessageBody.optional(),
  }),
  /**
   * Adds facts learnt later about a sealed message. A note belongs to the end of the history at that time: a fork that
   * keeps fewer messages does not include it. The newest note of a key counts; `null` removes it.
   */
  z.object({
    op: z.literal("note.put"),
    sessionID: SessionID,
    messageID: MessageID,
    key: z.string().regex(/^[a-z][a-z.-]{0,31}$/),
    value: z.unknown(),
  }),
  z.object({ op: z.literal("todos.put"), sessionID: SessionID, todos: z.array(Todo) }),
  /** Stores a permission request, or its answer. The row stays after the answer. */
  z.object({ op: z.literal("permission.put"), request: PermissionRequest }),
  /** (run) Removes an inbox item: `conflict` if it was taken before, `not_found` if it never existed. */
  z.object({ op: z.literal("inbox.take"), sessionID: SessionID, itemID: z.string() }),
  /**
   * (run) Moves the session to a new segment that ends just before `messageID`, then appends `tail`, sealed. The
   * messages behind it stay readable through `history.left`. Removes the revert mark and increases the epoch.
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
  /** The fence of the lease, by session. `conflict` if it is not the present fence. */
  fences: z.record(SessionID, z.number().int().positive()).optional(),
  /** The `seq` that the caller has seen, by session. `conflict` if the session has another. */
  expectSeq: z.record(SessionID, z.number().int().nonnegative()).optional(),
})
export type Commit = z.infer<typeof Commit>

/** The operations that only a run may do. */
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
