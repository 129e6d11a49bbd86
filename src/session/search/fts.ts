import type { CandidateToken } from "./candidates.ts"

/**
 * The candidates as an FTS5 expression, for a table with `tokenize='ascii'` that was given `tokenize(text).join(" ")`.
 */
export function ftsExpression(tokens: readonly CandidateToken[]): string {
  return tokens
    .map(({ token, prefix }) => `"${token.replaceAll('"', '""')}"${prefix ? "*" : ""}`)
    .join(" AND ")
}
