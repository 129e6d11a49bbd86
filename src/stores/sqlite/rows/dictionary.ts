import type { Database } from "../connection/database.ts"

/**
 * Stores texts that many rows share once, in the table `names`. Rows of `names` never change, so both directions are
 * cached.
 */
export class Dictionary {
  readonly #db: Database
  readonly #keys = new Map<string, number>()
  readonly #texts = new Map<number, string>()
  /** Texts inserted in the running transaction. A rollback drops them from the cache. */
  #newTexts: string[] = []

  constructor(db: Database) {
    this.#db = db
  }

  /** Returns the key of a text and inserts the text if it is new. Must run inside a write transaction. */
  intern(text: string): number {
    const known = this.find(text)
    if (known !== undefined) return known
    const key = this.#db.insert("INSERT INTO names (text) VALUES (?)", text)
    this.#remember(key, text)
    this.#newTexts.push(text)
    return key
  }

  /** Returns the key of a text, or undefined if no row has the text. */
  find(text: string): number | undefined {
    const known = this.#keys.get(text)
    if (known !== undefined) return known
    const row = this.#db.get("SELECT key FROM names WHERE text = ?", text)
    if (row === undefined) return undefined
    this.#remember(row[0] as number, text)
    return row[0] as number
  }

  /** Returns the text of a key; empty if the row does not exist. */
  text(key: number): string {
    const known = this.#texts.get(key)
    if (known !== undefined) return known
    const text = this.#db.get("SELECT text FROM names WHERE key = ?", key)?.[0] as string | undefined
    if (text === undefined) return ""
    this.#remember(key, text)
    return text
  }

  /** Called after the transaction was committed. */
  keepNewTexts(): void {
    this.#newTexts = []
  }

  /** Called after a rollback: drops the texts that the transaction inserted. */
  forgetNewTexts(): void {
    for (const text of this.#newTexts) {
      const key = this.#keys.get(text)
      this.#keys.delete(text)
      if (key !== undefined) this.#texts.delete(key)
    }
    this.#newTexts = []
  }

  #remember(key: number, text: string): void {
    // Limits the memory for a store with very many projects or models.
    if (this.#keys.size > 10_000) {
      this.#keys.clear()
      this.#texts.clear()
    }
    this.#keys.set(text, key)
    this.#texts.set(key, text)
  }
}
