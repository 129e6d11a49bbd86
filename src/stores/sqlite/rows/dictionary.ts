import type { Database } from "../connection/database.ts"

/** Texts that repeat, each stored once. Rows of `names` never change, so both directions are kept in memory. */
export class Names {
  readonly #db: Database
  readonly #keys = new Map<string, number>()
  readonly #texts = new Map<number, string>()
  /** Keys made in the running transaction: forgotten if it fails. */
  #fresh: string[] = []

  constructor(db: Database) {
    this.#db = db
  }

  /** The key of a text, made if there is none yet. Only inside a write transaction. */
  intern(text: string): number {
    const known = this.find(text)
    if (known !== undefined) return known
    const key = this.#db.insert("INSERT INTO names (text) VALUES (?)", text)
    this.#keep(key, text)
    this.#fresh.push(text)
    return key
  }

  find(text: string): number | undefined {
    const known = this.#keys.get(text)
    if (known !== undefined) return known
    const row = this.#db.get("SELECT key FROM names WHERE text = ?", text)
    if (row === undefined) return undefined
    this.#keep(row[0] as number, text)
    return row[0] as number
  }

  text(key: number): string {
    const known = this.#texts.get(key)
    if (known !== undefined) return known
    const text = this.#db.get("SELECT text FROM names WHERE key = ?", key)?.[0] as string | undefined
    if (text === undefined) return ""
    this.#keep(key, text)
    return text
  }

  settle(): void {
    this.#fresh = []
  }

  forget(): void {
    for (const text of this.#fresh) {
      const key = this.#keys.get(text)
      this.#keys.delete(text)
      if (key !== undefined) this.#texts.delete(key)
    }
    this.#fresh = []
  }

  #keep(key: number, text: string): void {
    // A store with very many projects or models must not grow the process.
    if (this.#keys.size > 10_000) {
      this.#keys.clear()
      this.#texts.clear()
    }
    this.#keys.set(text, key)
    this.#texts.set(key, text)
  }
}
