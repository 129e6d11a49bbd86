import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { featuresOf } from "../../src/session/ledger/rank/sentence-features.ts"

/** A labelled sentence. */
export interface Example {
  file: string
  /** True if the sentence still matters when the messages around it are hidden. */
  matters: boolean
  kind: string
  text: string
  places: readonly number[]
}

export async function readExamples(directory: string): Promise<Example[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".tsv")).sort()
  const read = names.map(async (file) => {
    const lines = (await readFile(join(directory, file), "utf8")).split("\n")
    return lines.filter((line) => line !== "").map((line) => example(line, file))
  })
  return (await Promise.all(read)).flat()
}

function example(line: string, file: string): Example {
  const [label, kind, text, ...more] = line.split("\t")
  if ((label !== "0" && label !== "1") || !kind || !text || more.length > 0) {
    throw new Error(`${file} has a line that is not label, kind and text separated by tabs: ${line}`)
  }
  return { file, matters: label === "1", kind, text, places: featuresOf(text) }
}
