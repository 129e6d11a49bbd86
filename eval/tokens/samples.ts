import { readdirSync, readFileSync } from "node:fs"

/** The costs of the estimate were found with the group `fit`; the group `test` was not used for that. */
export type SampleSet = "fit" | "test"

export interface Sample {
  kind: string
  name: string
  text: string
}

const folder = new URL("samples/", import.meta.url)

/** The kinds with a strict target; all other kinds have a wider one. */
export const judgedKinds = ["english", "typescript", "json", "chinese"]

export function readSamples(set: SampleSet): Sample[] {
  return readdirSync(new URL(`${set}/`, folder))
    .sort()
    .flatMap((kind) => {
      const place = new URL(`${set}/${kind}/`, folder)
      const files = readdirSync(place).sort()
      return files.map((file) => ({
        kind,
        name: file.replace(/\.txt$/, ""),
        text: readFileSync(new URL(file, place), "utf8"),
      }))
    })
}
