import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { mkdir, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Bench, Scratch } from "../bench.ts"
import { type CorpusFacts, importCorpus } from "./corpus.ts"
import { openStore, settle } from "./open-store.ts"

export interface CorpusFile {
  path: string
  facts: CorpusFacts
}

/** The corpus in a store's file: from the cache if the same code made it, otherwise newly made. */
export async function corpusFile(bench: Bench, scratch: Scratch, parts: number): Promise<CorpusFile> {
  if (bench.cacheDirectory === undefined) return await makeCorpus(bench, scratch.path("corpus.db"), parts)
  await mkdir(bench.cacheDirectory, { recursive: true })
  const path = join(bench.cacheDirectory, `corpus-${parts}-${codeHash()}.db`)
  const factsPath = `${path}.json`
  if (existsSync(factsPath)) {
    bench.progress(`uses ${path}`)
    return { path, facts: JSON.parse(readFileSync(factsPath, "utf8")) as CorpusFacts }
  }
  const unfinished = `${path}.unfinished`
  for (const ending of ["", "-wal", "-shm"]) await rm(unfinished + ending, { force: true })
  const { facts } = await makeCorpus(bench, unfinished, parts)
  await rename(unfinished, path)
  await writeFile(factsPath, JSON.stringify(facts))
  return { path, facts }
}

async function makeCorpus(bench: Bench, path: string, parts: number): Promise<CorpusFile> {
  const start = performance.now()
  const seconds = () => ((performance.now() - start) / 1000).toFixed(0)
  await using store = await openStore(path)
  let said = 0
  const facts = await importCorpus(store, parts, (made) => {
    if (made - said < parts / 20) return
    said = made
    bench.progress(`${made.toLocaleString("en-US")} parts imported after ${seconds()} s`)
  })
  bench.progress(`waits for the index, after ${seconds()} s`)
  const imported = performance.now()
  await settle(store)
  bench.progress(`indexed after ${seconds()} s`)
  bench.add({ name: "parts imported", value: (parts / (imported - start)) * 1000, unit: "/s" })
  bench.add({
    name: "parts imported and indexed",
    value: (parts / (performance.now() - start)) * 1000,
    unit: "/s",
  })
  return { path, facts }
}

export function fileBytes(path: string): number {
  return statSync(path).size
}

/** A key that changes with the code that decides what the file contains. */
function codeHash(): string {
  const hash = createHash("sha256")
  for (const folder of [".", "../../src/stores/sqlite", "../../src/session/search"]) {
    const directory = fileURLToPath(new URL(folder, import.meta.url))
    const all = readdirSync(directory, { recursive: true, encoding: "utf8" })
    const files = all.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    for (const name of files.sort()) hash.update(readFileSync(join(directory, name)))
  }
  return hash.digest("hex").slice(0, 12)
}
