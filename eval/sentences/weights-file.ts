import { fileURLToPath } from "node:url"
import { type Example, readExamples } from "./examples.ts"
import { heads, labelled } from "./heads.ts"
import { train } from "./train.ts"

export const dataDirectory = fileURLToPath(new URL("data", import.meta.url))
export const weightsPath = fileURLToPath(
  new URL("../../src/session/ledger/rank/sentence-weights.ts", import.meta.url),
)

/** The source of the module that the ledger imports, made from the examples. */
export async function weightsFile(examples?: readonly Example[]): Promise<string> {
  const all = examples ?? (await readExamples(dataDirectory))
  const models = Object.entries(heads).map(([name, head]) => {
    const { bias, unit, weights } = train(labelled(all, head))
    return `export const ${name}Weights: SentenceWeights = {\n  bias: ${bias},\n  unit: ${unit},\n  weights:\n    "${weights}",\n}\n`
  })
  return [
    "// Written by `npm run train:sentences` from eval/sentences/data: not to be changed by hand.\n",
    'import type { SentenceWeights } from "./sentence-model.ts"\n',
    "\n",
    models.join("\n"),
  ].join("")
}
