import { type CandidateToken, ftsExpression } from "../../../session/search/index.ts"
import type { Database } from "../connection/database.ts"

/** A prefix that more terms than this begin with is `broad`. */
const termsMax = 300

/** Creates temporary tables with the terms of each index, visible to this connection only. */
export function createTermTables(db: Database): void {
  db.exec(`
    CREATE VIRTUAL TABLE IF NOT EXISTS temp.text_terms USING fts5vocab (main, text_index, row);
    CREATE VIRTUAL TABLE IF NOT EXISTS temp.title_terms USING fts5vocab (main, title_index, row);`)
}

export interface Expression {
  text: string
  /**
   * True if a prefix matches so many terms that FTS5 would read all their rows before it returns the newest. Reading
   * the newest parts directly finds such common text sooner.
   */
  broad: boolean
}

/**
 * Returns the FTS5 expression for the candidates. A prefix becomes an OR of the terms that begin with it, because FTS5
 * walks terms from the newest row back and stops when the page is full.
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

/** Returns the terms that begin with the prefix, at most `termsMax` + 1. */
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
