import { candidateTokens, ftsExpression, parseQuery } from "../../../src/session/search/index.ts"
import type { Store } from "../../../src/stores/store.ts"
import { type Bench, scratchDirectory } from "../../bench.ts"
import { interleave, median } from "../../measure.ts"
import { corpusFile, fileBytes } from "../corpus-file.ts"
import { openStore } from "../open-store.ts"
import { RawDatabase } from "../raw.ts"
import { type SearchKindCase, searchKinds } from "../search-kinds.ts"
import { benchIndexing } from "./indexing.ts"

const rounds = 9

/** Searches of every kind over very many parts, and the effect of indexing on the event loop. */
export async function benchSearch(bench: Bench): Promise<void> {
  const parts = bench.quick ? 20_000 : 1_000_000
  await using scratch = await scratchDirectory()
  const { path, facts } = await corpusFile(bench, scratch, parts)
  bench.add({ name: "mean text of a part", value: facts.textBytes / facts.parts, unit: "bytes" })
  bench.add({ name: "file with the index", value: fileBytes(path) / facts.textBytes, unit: "x text" })
  {
    await using store = await openStore(path)
    using raw = new RawDatabase(path)
    const kinds = searchKinds(facts)
    for (const order of ["newest", "relevance"] as const) {
      bench.progress(`searches, ${order} first`)
      const medians: number[] = []
      for (const kind of kinds) medians.push(await benchKind(bench, { store, raw, kind, order }))
      const name = `${order === "newest" ? "newest first" : "by relevance"}, median of the kinds`
      bench.add({
        name,
        value: median(medians),
        unit: "ms",
        target: order === "newest" ? { under: 8 } : undefined,
      })
    }
  }
  await benchIndexing(bench, scratch, path)
}

interface Setting {
  store: Store
  raw: RawDatabase
  kind: SearchKindCase
  order: "newest" | "relevance"
}

async function benchKind(bench: Bench, { store, raw, kind, order }: Setting): Promise<number> {
  const bare = rawSearch(raw, kind.query.text)
  const timings = await interleave(
    {
      store: async () => {
        const { hits } = await store.search({ ...kind.query, order })
        if (hits.length === 0 && !kind.absent) throw new Error(`${kind.name}: nothing was found.`)
      },
      raw: bare,
    },
    { rounds, batch: 1 },
  )
  const prefix = order === "newest" ? "" : "by relevance: "
  bench.add({
    name: `${prefix}${kind.name}`,
    value: timings.store.medianMs,
    raw: timings.raw.medianMs,
    first: timings.store.firstMs,
    unit: "ms",
    target: { under: order === "newest" ? 30 : 50 },
  })
  return timings.store.medianMs
}

/** The newest 50 rows that the index proposes, not yet matched. */
function rawSearch(db: RawDatabase, text: string): () => void {
  const expression = ftsExpression(candidateTokens(parseQuery(text)))
  const keys = db.prepare(
    "SELECT rowid FROM text_index WHERE text_index MATCH ? ORDER BY rowid DESC LIMIT 50",
  )
  const part = db.prepare("SELECT segment, position, id, kind, data FROM parts WHERE key = ?")
  return () => {
    for (const [key] of keys.all(expression) as unknown as [number][]) part.get(key)
  }
}
