import { estimateTokens, estimateTokensPlainly } from "../../src/session/usage/tokens.ts"
import type { Sample } from "./samples.ts"
import type { TokenizerName, Tokenizers } from "./tokenizers.ts"

export interface Comparison {
  estimate: number
  plain: number
  real: Record<TokenizerName, number>
}

export function compare(texts: readonly string[], tokenizers: Tokenizers): Comparison {
  const sum = (count: (text: string) => number) => texts.reduce((total, text) => total + count(text), 0)
  return {
    estimate: sum(estimateTokens),
    plain: sum(estimateTokensPlainly),
    real: { o200k_base: sum(tokenizers.o200k_base), cl100k_base: sum(tokenizers.cl100k_base) },
  }
}

/** Compares all samples of a kind together. */
export function compareKinds(samples: readonly Sample[], tokenizers: Tokenizers): Map<string, Comparison> {
  const kinds = Map.groupBy(samples, (sample) => sample.kind)
  return new Map(
    [...kinds].map(([kind, of]) => [
      kind,
      compare(
        of.map((sample) => sample.text),
        tokenizers,
      ),
    ]),
  )
}

/** The error in percent of the real count; negative if the estimate is too low. */
export function errorPercent(estimate: number, real: number): number {
  return (estimate / real - 1) * 100
}
