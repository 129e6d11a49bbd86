import { z } from "zod"

/** What kind of content a search hit was found in. */
export const SearchKind = z.enum(["title", "text", "reasoning", "tool", "file", "other"])
export type SearchKind = z.infer<typeof SearchKind>
