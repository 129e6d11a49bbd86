import { readdirSync, readFileSync } from "node:fs"

/** `fit` is what the costs of the estimate were found with; `test` had no part in that. */
export type SampleSet = "fit" | "test"

export interface Sample {
  kind: string
  name: string
  text: string
}

const folder = new URL("samples/", import.meta.url)

/** The kinds that the estimate is held to; all others are only looked after. */
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
