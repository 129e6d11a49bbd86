import { z } from "zod"

const count = z.number().int().nonnegative()
/** How much the fact matters, 0 to 100: what goes first when there is no room. */
const rank = z.number().int().min(0).max(100)

/** One thing that a compaction keeps word for word. */
export const LedgerFact = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("file"),
    path: z.string(),
    reads: count,
    changes: count,
    /** How often somebody named it in prose. */
    told: count.optional(),
    removed: z.literal(true).optional(),
    rank,
  }),
  /** Taken from prose, `command` is the sentence and `outcome` is empty. */
  z.object({ kind: z.literal("command"), command: z.string(), outcome: z.string(), times: count, rank }),
  z.object({
    kind: z.literal("said"),
    text: z.string(),
    /** The user said it unless given. */
    by: z.literal("assistant").optional(),
    /** Of the user's last hidden message. */
    newest: z.literal(true).optional(),
    rank,
  }),
  z.object({ kind: z.literal("todo"), text: z.string(), status: z.enum(["pending", "in_progress"]), rank }),
  z.object({
    kind: z.literal("identifier"),
    value: z.string(),
    /** A few words of where it stood. */
    note: z.string(),
    rank,
  }),
])
export type LedgerFact = z.infer<typeof LedgerFact>
export type LedgerKind = LedgerFact["kind"]

/** The facts in the order in which they were last told, and how many of each kind had no room. */
export const LedgerFacts = z.object({
  facts: z.array(LedgerFact),
  dropped: z.object({
    file: count.optional(),
    command: count.optional(),
    said: count.optional(),
    todo: count.optional(),
    identifier: count.optional(),
  }),
  /** What the assistant asked last, if the user has not answered yet. */
  asked: z.string().optional(),
})
export type LedgerFacts = z.infer<typeof LedgerFacts>
