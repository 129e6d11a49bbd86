/** Hiding fewer tokens than this is not worth a summary, which would hardly be shorter. */
const hiddenTokensMin = 200

export function isWorthHiding(range: {
  from: number
  to: number
  tokensAt: (index: number) => number
}): boolean {
  let tokens = 0
  for (let index = range.from; index < range.to && tokens < hiddenTokensMin; index++)
    tokens += range.tokensAt(index)
  return tokens >= hiddenTokensMin
}
