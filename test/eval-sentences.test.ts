import { readFile } from "node:fs/promises"
import { expect, test } from "vitest"
import { weightsFile, weightsPath } from "../eval/sentences/weights-file.ts"
import { packWeights, unpackWeights } from "../src/session/ledger/rank/sentence-model.ts"

test("the weights of the ledger's models are those of the examples", async () => {
  expect((await readFile(weightsPath, "utf8")) === (await weightsFile())).toBe(true)
}, 60_000)

test("weights are unpacked as they were packed", () => {
  const table = new Int8Array(unpackWeights("").length)
  for (const [at, weight] of [
    [0, -127],
    [1, 127],
    [200, 1],
    [20_000, -1],
    [table.length - 1, 64],
  ] as const)
    table[at] = weight
  expect(unpackWeights(packWeights(table))).toEqual(table)
})
