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

/** A sealed message with its parts, as a fork or a revert at a part appends it: a cut copy with new ids. */
const SealedMessage = z.object({ message: MessageBody, parts: z.array(PartBody) })

/**
 * What one commit can do. The operations of a commit are applied in order, all or none.
 *
 * Operations marked (run) need the fence of the session's lease, unless the same commit made the session or
 * the session is still being imported.
 */
export const Op = z.discriminatedUnion("op", [
  /** `importing`: nobody sees the session until `session.publish`. `conflict` if the id or the agent's key is taken. */
  z.object({
    op: z.literal("session.create"),
    session: NewSession,
    segment: SegmentID,
    importing: z.boolean().optional(),
  }),
  /** Ends an import: the session and all its messages appear at once. */
  z.object({ op: z.literal("session.publish"), sessionID: SessionID }),
  /** Sets single fields; `add` adds to cost and tokens, exactly. */
  z.object({
    op: z.literal("session.patch"),
    sessionID: SessionID,
    set: SessionPatch.optional(),
    add: z.object({ cost: z.number().nonnegative(), tokens: Tokens }).partial().optional(),
  }),
  /**
   * A new session that shares the source's sealed messages up to, and without, `messageID`; whole without it.
   * Never includes an open message or what the source's revert mark hides. `left` forks a tail that a revert left.
   * agent, model, permission and maxHistory come from the source unless `session` names them; projectID and
   * directory likewise. It is a root session unless `session` names a parent, also if its source is a child; `caller`
   * and the other fields never come from the source. `tail` is appended, sealed.
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
  /** (run) Appends a message; the one before it must be sealed. Position is the store's. Refused under a revert mark. */
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
   * (run) Puts a part of the open message: a known id is replaced in its place, a new one goes to the end. The value
   * replaces what had grown by pieces; with `grown: "keep"` the pieces stay and the value's growing fields must be
   * empty or absent. A tool state that may not follow the present one is `invalid`.
   */
  z.object({
    op: z.literal("part.put"),
    sessionID: SessionID,
    messageID: MessageID,
    part: PartBody,
    grown: z.literal("keep").optional(),
  }),
  /** (run) Removes the parts of the open message from index `keep` on: a try that failed. */
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
  /** (run) Finishes the open message, with its last fields if given. `invalid` while a tool call is unsettled. */
  z.object({
    op: z.literal("message.seal"),
    sessionID: SessionID,
    messageID: MessageID,
    message: MessageBody.optional(),
  }),
  /**
   * What was learnt later about a sealed message. A note stands where it was written: a fork that keeps fewer messages
   * than there were then does not see it. The newest note of a key wins; `null` removes it.
   */
  z.object({
    op: z.literal("note.put"),
    sessionID: SessionID,
    messageID: MessageID,
    key: z.string().regex(/^[a-z][a-z.-]{0,31}$/),
    value: z.unknown(),
  }),
  z.object({ op: z.literal("todos.put"), sessionID: SessionID, todos: z.array(Todo) }),
  /** Asks, or records the answer: the row stays. */
  z.object({ op: z.literal("permission.put"), request: PermissionRequest }),
  /** (run) Removes an inbox item: `conflict` if it was taken already, `not_found` if it never was there. */
  z.object({ op: z.literal("inbox.take"), sessionID: SessionID, itemID: z.string() }),
  /**
   * (run) Moves the session to a new segment that ends just before `messageID`, then appends `tail`, sealed. What it
   * leaves stays in `history.left`. The revert mark goes, the epoch grows.
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
  /** The fence of the lease, by session. A fence that is not the present one is `conflict`. */
  fences: z.record(SessionID, z.number().int().positive()).optional(),
  /** The `seq` that the caller has seen, by session. Another one is `conflict`. */
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
