import { tokensMax } from "../../../models/response/mend.ts"
import { Tokens } from "../../../protocol/index.ts"

/** True for token counts that can be right. */
export function areTokens(usage: Tokens | undefined): usage is Tokens {
  if (!Tokens.safeParse(usage).success) return false
  const { input, output, reasoning, cache } = usage!
  return Math.max(input, output, reasoning, cache.read, cache.write) <= tokensMax
}
