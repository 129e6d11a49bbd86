import { z } from "zod"

const count = z.number().int().nonnegative()
/** How much the fact matters, 0 to 100. When there is no room, the facts with the lowest rank are dropped first. */
const rank = z.number().int().min(0).max(100)

/** One fact that a compaction keeps word for word. */
export const LedgerFact = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("file"),
    path: z.string(),
    reads: count,
    changes: count,
    /** How often a message named the file in prose. */
    told: count.optional(),
    removed: z.literal(true).optional(),
    rank,
  }),
  /** A command that was found in prose has its sentence in `command` and an empty `outcome`. */
  z.object({ kind: z.literal("command"), command: z.string(), outcome: z.string(), times: count, rank }),
  z.object({
    kind: z.literal("said"),
    text: z.string(),
    /** Absent: the user said it. */
    by: z.literal("assistant").optional(),
    /** The text is from the user's last hidden message. */
    newest: z.literal(true).optional(),
    rank,
  }),
  z.object({ kind: z.literal("todo"), text: z.string(), status: z.enum(["pending", "in_progress"]), rank }),
  z.object({
    kind: z.literal("identifier"),
    value: z.string(),
    /** A few words that stood around the identifier. */
    note: z.string(),
    rank,
  }),
])
export type LedgerFact = z.infer<typeof LedgerFact>
export type LedgerKind = LedgerFact["kind"]

/**
 * The facts, ordered by when each was last mentioned, and how many facts of each kind were dropped for lack of room.
 */
export const LedgerFacts = z.object({
  facts: z.array(LedgerFact),
  dropped: z.object({
    file: count.optional(),
    command: count.optional(),
    said: count.optional(),
    todo: count.optional(),
    identifier: count.optional(),
  }),
  /** The assistant's last question, if the user has not answered it. */
  asked: z.string().optional(),
})
export type LedgerFacts = z.infer<typeof LedgerFacts>
