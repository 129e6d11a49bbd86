import { estimateTokens } from "../usage/tokens.ts"

/** The beginning of a text: close to `tokensMax` tokens and never more. */
export function cutToTokens(text: string, tokensMax: number): string {
  const whole = estimateTokens(text)
  if (whole <= tokensMax) return text
  let end = Math.floor((text.length * tokensMax) / whole)
  let cut = sliceWhole(text, end)
  while (cut !== "" && estimateTokens(cut) > tokensMax) {
    end = Math.floor(end * 0.9)
    cut = sliceWhole(text, end)
  }
  return cut
}

function sliceWhole(text: string, end: number): string {
  const isSplit = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return text.slice(0, isSplit ? end - 1 : end)
}
