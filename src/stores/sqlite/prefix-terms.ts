import { type CandidateToken, ftsExpression } from "../../session/search/index.ts"
import type { Database } from "./database.ts"

/** A prefix with more terms than this is left to FTS5, which then reads all their rows before it gives the first. */
const termsMax = 300

/** The terms of an index as a table, visible to this connection only. */
export function createTermTables(db: Database): void {
  db.exec(`
    CREATE VIRTUAL TABLE IF NOT EXISTS temp.text_terms USING fts5vocab (main, text_index, row);
    CREATE VIRTUAL TABLE IF NOT EXISTS temp.title_terms USING fts5vocab (main, title_index, row);`)
}

/**
 * The candidates as an FTS5 expression. A prefix becomes the OR of the terms that begin so: those are walked from the
 * newest row on and only as far as the page needs.
 */
export function expressionFor(
  db: Database,
  table: "text_terms" | "title_terms",
  tokens: readonly CandidateToken[],
): string {
  return tokens
    .map((token) => (token.prefix ? expandPrefix(db, table, token) : ftsExpression([token])))
    .join(" AND ")
}

function expandPrefix(db: Database, table: "text_terms" | "title_terms", prefix: CandidateToken): string {
  const terms = db.all(
    `SELECT term FROM temp.${table} WHERE term >= ? AND term < ? LIMIT ?`,
    prefix.token,
    `${prefix.token}\u{10ffff}`,
    termsMax + 1,
  ) as [string][]
  if (terms.length === 0 || terms.length > termsMax) return ftsExpression([prefix])
  const alternatives = terms.map(([token]) => ftsExpression([{ token, prefix: false }]))
  return `(${alternatives.join(" OR ")})`
}
