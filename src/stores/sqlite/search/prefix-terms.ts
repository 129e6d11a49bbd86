import { type CandidateToken, ftsExpression } from "../../../session/search/index.ts"
import type { Database } from "../connection/database.ts"

/** A prefix with more terms than this is broad. */
const termsMax = 300

/** The terms of an index as a table, visible to this connection only. */
export function createTermTables(db: Database): void {
  db.exec(`
    CREATE VIRTUAL TABLE IF NOT EXISTS temp.text_terms USING fts5vocab (main, text_index, row);
    CREATE VIRTUAL TABLE IF NOT EXISTS temp.title_terms USING fts5vocab (main, title_index, row);`)
}

export interface Expression {
  text: string
  /**
   * Holds a prefix of so many terms that FTS5 must read all their rows before it gives the newest. What is that common
   * is found sooner by reading the newest parts themselves.
   */
  broad: boolean
}

/**
 * The candidates as an FTS5 expression. A prefix becomes the OR of the terms that begin so: those are walked from the
 * newest row on and only as far as the page needs.
 */
export function expressionFor(
  db: Database,
  table: "text_terms" | "title_terms",
  tokens: readonly CandidateToken[],
): Expression {
  let broad = false
  const parts = tokens.map((token) => {
    const terms = token.prefix ? termsOf(db, table, token.token) : []
    if (terms.length > termsMax) broad = true
    if (terms.length === 0 || terms.length > termsMax) return ftsExpression([token])
    return `(${terms.map((term) => ftsExpression([{ token: term, prefix: false }])).join(" OR ")})`
  })
  return { text: parts.join(" AND "), broad }
}

/** The terms that begin so, up to one more than count as few. */
function termsOf(db: Database, table: "text_terms" | "title_terms", prefix: string): string[] {
  return db
    .all(
      `SELECT term FROM temp.${table} WHERE term >= ? AND term < ? LIMIT ?`,
      prefix,
      `${prefix}\u{10ffff}`,
      termsMax + 1,
    )
    .map(([term]) => term as string)
}
