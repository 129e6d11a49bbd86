import { beforeAll, describe, expect, test } from "vitest"
import { type Comparison, compareKinds, errorPercent } from "../eval/tokens/compare.ts"
import { judgedKinds, readSamples } from "../eval/tokens/samples.ts"
import { loadTokenizers, tokenizerNames } from "../eval/tokens/tokenizers.ts"

const samples = readSamples("test")
const otherKinds = [...new Set(samples.map((sample) => sample.kind))].filter(
  (kind) => !judgedKinds.includes(kind),
)
let kinds: Map<string, Comparison>

beforeAll(async () => {
  kinds = compareKinds(samples, await loadTokenizers())
})

function errorOf(kind: string, tokenizer: (typeof tokenizerNames)[number]): number {
  const found = kinds.get(kind)!
  return Math.abs(errorPercent(found.estimate, found.real[tokenizer]))
}

describe.each(tokenizerNames)("beside %s", (tokenizer) => {
  test.each(judgedKinds)("the estimate of %s is off by 25 % at most", (kind) => {
    expect(errorOf(kind, tokenizer)).toBeLessThanOrEqual(25)
  })
})

test.each(otherKinds)("the estimate of %s is off by 40 %% at most beside o200k_base", (kind) => {
  expect(errorOf(kind, "o200k_base")).toBeLessThanOrEqual(40)
})

test("there are at least three samples of each judged kind, none of which the estimate was fitted to", () => {
  const fitted = new Set(readSamples("fit").map((sample) => sample.text))
  for (const kind of judgedKinds) {
    expect(samples.filter((sample) => sample.kind === kind).length).toBeGreaterThanOrEqual(3)
  }
  expect(samples.filter((sample) => fitted.has(sample.text))).toEqual([])
})
