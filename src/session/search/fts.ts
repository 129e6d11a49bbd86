import type { CandidateToken } from "./candidates.ts"

/**
 * The candidate tokens as an FTS5 expression, for a table with `tokenize='ascii'` that indexes `tokenize(text).join("
 * ")`.
 */
export function ftsExpression(tokens: readonly CandidateToken[]): string {
  return tokens
    .map(({ token, prefix }) => `"${token.replaceAll('"', '""')}"${prefix ? "*" : ""}`)
    .join(" AND ")
}
