import { z } from "zod"

/** What a search hit is a piece of. */
export const SearchKind = z.enum(["title", "text", "reasoning", "tool", "file", "other"])
export type SearchKind = z.infer<typeof SearchKind>
